// What the simulated GPU looks like and how long things take on it.
//
// Read once at the first CUDA call: a file named by SIMGPU_CONFIG, then environment variables SIMGPU_<KEY> over it.
// A file has one `key = value` a line and kernel rules `kernel <part of the mangled name> <base ns> [<ns per block>]`;
// `#` starts a comment. An unknown key or a bad number is said on stderr and ignored. Keys and defaults: README.md.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_CONFIG_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simgpu {

// First rule whose text is part of a kernel's mangled name decides its duration.
struct KernelRule {
  std::string name_part;
  double base_ns = 0;
  double per_block_ns = 0;
};

struct Config {
  // Device.
  uint64_t devices = 1;
  uint64_t memory_mib = 143'771;
  uint64_t sm_count = 132;
  uint64_t queue_depth = 1024;  // launches a stream holds before the launching call blocks

  // When things start.
  uint64_t launch_latency_ns = 3000;        // from the call to the start on an idle stream
  uint64_t stream_gap_ns = 700;             // between two operations of a busy stream
  uint64_t graph_launch_latency_ns = 5000;  // same two for graphs
  uint64_t graph_node_gap_ns = 400;

  // How long they take.
  uint64_t kernel_ns = 2500;
  uint64_t copy_base_ns = 1200;
  uint64_t memset_base_ns = 1000;
  double pinned_gb_per_s = 50;
  double pageable_gb_per_s = 8;
  double device_gb_per_s = 3000;
  double peer_gb_per_s = 400;          // between two devices
  uint64_t host_function_ns = 10'000;  // a host function in a stream, when it returns sooner

  // From the simulated end to the return of the call that waited for it.
  uint64_t wake_spin_ns = 1500;
  uint64_t wake_yield_ns = 3000;
  uint64_t wake_block_ns = 20'000;

  // Host time that calls take, passed by spinning. Of real launches and asynchronous copies in public traces (nsys and
  // Kineto, eleven GPUs from a T4 to an H100) the fastest tenth took 2.7 to 7 us with tracing on; untraced ones take less.
  uint64_t launch_call_ns = 2000;  // kernel launch, copy, fill: from the call to its return
  uint64_t graph_launch_call_ns = 4000;
  uint64_t malloc_ns = 20'000;
  uint64_t free_ns = 15'000;
  uint64_t host_alloc_ns = 30'000;
  uint64_t host_alloc_ns_per_mib = 100'000;
  uint64_t host_register_ns = 20'000;
  uint64_t host_register_ns_per_mib = 50'000;
  uint64_t graph_instantiate_ns = 20'000;
  uint64_t graph_instantiate_ns_per_node = 400;
  uint64_t graph_update_ns_per_node = 50;
  uint64_t module_load_ns = 300'000;  // cuModuleLoad*, cuLibraryLoad*
  uint64_t jit_ns = 5'000'000;        // added for PTX, which is compiled
  uint64_t lazy_load_ns = 0;          // loading a kernel when it is launched for the first time

  // What the device is, and who shares it.
  uint64_t mig = 0;             // 1: a part of a GPU
  uint64_t mps = 0;             // 1: contexts say that they are clients of MPS
  uint64_t managed_faults = 0;  // pages that each kernel faults in, once there is managed memory

  // Host time that the simulated CUPTI takes: for each activity record when its call returns, and around each callback.
  uint64_t cupti_record_ns = 0;
  uint64_t cupti_callback_ns = 0;
  // CUDA version whose record layouts the simulated CUPTI writes; empty: the one of the library's name.
  std::string cupti_layout;

  // Where the truth of the run goes at exit (one JSON object a line); empty: nowhere.
  std::string truth_path;

  std::vector<KernelRule> kernel_rules;

  uint64_t MemoryBytes() const { return memory_mib << 20; }
};

// Applies one `key = value` or `kernel ...` line. False when it is neither, with the reason in `*error`.
bool ApplyConfigLine(std::string_view line, Config* config, std::string* error);

// Reads SIMGPU_CONFIG and the SIMGPU_<KEY> variables of this process.
Config ReadConfig();

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_CONFIG_H_
