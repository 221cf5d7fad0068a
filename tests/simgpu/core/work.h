// What can be put on a stream or into a graph: kernels, copies, fills. Kernels do nothing but take their modelled time;
// copies and fills really move bytes.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_WORK_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_WORK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "tests/simgpu/core/config.h"
#include "tests/simgpu/core/memory.h"

namespace simgpu {

// One registered device function. Its address is the program's cudaKernel_t and cudaFunction_t. Never freed.
struct Kernel {
  std::string name;  // mangled, as registered
  // Filled from the configured rules at the first launch; negative: not looked up yet.
  mutable std::atomic<double> base_ns{-1};
  mutable std::atomic<double> per_block_ns{0};
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t Count() const { return uint64_t{x} * y * z; }
};

struct KernelWork {
  const Kernel* kernel = nullptr;
  Extent grid, block;
  uint32_t shared_bytes = 0;
  void** arguments = nullptr;  // the caller's, for who asks a graph node for them
};

struct CopyWork {
  void* destination = nullptr;
  const void* source = nullptr;
  size_t width_bytes = 0;  // of one row
  size_t rows = 1;
  size_t destination_pitch = 0, source_pitch = 0;
  size_t slices = 1;
  size_t destination_slice_pitch = 0, source_slice_pitch = 0;  // bytes from one slice to the next
  MemoryKind destination_kind = MemoryKind::kDevice, source_kind = MemoryKind::kDevice;
  bool asynchronous = true;                       // as called: cudaMemcpy is not
  int destination_device = 0, source_device = 0;  // ordinals, for device memory

  // From one device's memory to another's.
  bool PeerToPeer() const;

  uint64_t Bytes() const { return uint64_t{width_bytes} * rows * slices; }
};

struct FillWork {
  void* destination = nullptr;
  uint32_t value = 0;
  uint32_t element_bytes = 1;  // 1, 2 or 4: how much of the value is repeated
  size_t width_bytes = 0;
  size_t rows = 1;
  size_t pitch = 0;
  MemoryKind kind = MemoryKind::kDevice;

  uint64_t Bytes() const { return uint64_t{width_bytes} * rows; }
};

// Nothing to run: a graph's empty node, a recorded event.
struct EmptyWork {};

// A function that the stream calls on a host thread (host_tasks.h); what follows it on the stream waits for it.
struct HostWork {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

struct Event;
struct Graph;
// These are nodes of graphs only; none takes time on the device.
struct MemoryWork {  // a stream-ordered allocation or its end
  void* address = nullptr;
  uint64_t bytes = 0;
  bool frees = false;
  std::shared_ptr<void> owner;  // of the memory; lives as long as a graph that allocates it
};
struct EventWork {
  Event* event = nullptr;
  bool waits = false;  // else it records
};
struct ChildWork {
  std::shared_ptr<Graph> graph;
};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, MemoryWork, EventWork, ChildWork>;

// The device's engines that take one operation at a time; kernels of different streams overlap freely.
enum class Engine : uint8_t { kNone, kHostToDevice, kDeviceToHost, kPeer };
inline constexpr int kEngineCount = 4;

bool OnHost(MemoryKind kind);
Engine EngineOf(const Work& work);
// Simulated duration under `config`. Never zero, except for empty work.
uint64_t DurationNs(const Work& work, const Config& config);
// No earlier than this may a graph's node begin, for what lies outside of the graph.
uint64_t EarliestNs(const Work& work);
// Moves the bytes of a copy or fill, at once.
void MoveBytes(const Work& work);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_WORK_H_
