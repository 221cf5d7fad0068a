// What the collector's stages and the offline tools see of a process: decoded, checked, in host nanoseconds.
//
// Written by: ingest (from packed batches of a socket or a capture) and the memfd reader (from raw records of a dead
// process). Read by: EventSinks: the timeline, the tables, dump. Ids of objects are raw again (addresses, handles,
// wire::FdObject); names are string ids of the process, resolved through ProcessNames. Units: CLOCK_MONOTONIC
// nanoseconds of the host (HostNs). An event is [begin, begin + duration].
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/wire/calls.h"

namespace stallscope {

using HostNs = int64_t;
using ThreadIndex = uint32_t;  // process-private number of a thread, from 1
using StringId = uint32_t;     // process-private number of a string, from 1; 0: none
using StackId = uint32_t;

struct WaitEvent {
  ThreadIndex thread;
  wire::OsCall call;  // may be past kCount when the agent is newer
  HostNs begin, end;
  uint64_t object;
  int32_t result;
  uint32_t count;                // ready events; collapsed calls of a spin
  uint64_t timeout_ns_plus_one;  // 0: none asked for
  StackId stack;
};

struct WakeEvent {
  ThreadIndex thread;
  wire::OsCall call;
  HostNs at;
  uint64_t object;
  uint32_t woken_tid;    // 0: not known
  uint32_t fd_plus_one;  // written descriptor when the object is an epoll set
  StackId stack;
};

struct CudaCallEvent {
  ThreadIndex thread;
  uint16_t call;  // callback id; name through ProcessNames::CallName(domain, call)
  wire::CudaDomain domain;
  wire::CudaCallClass call_class;
  wire::CopyKind copy_kind;
  uint8_t flags;  // wire::kCudaFlag*
  HostNs begin, end;
  uint32_t correlation;  // 0: not known; with kCudaFlagSpin: how many queries it stands for
  int32_t result;
  uint64_t stream;    // handle; 0: legacy default stream
  uint64_t argument;  // by class: bytes, event handle, executable graph handle
  StackId stack;
};

struct GpuOpEvent {
  wire::GpuOpKind kind;
  wire::CopyKind copy_kind;
  uint8_t source_memory, destination_memory;  // CUpti_ActivityMemoryKind
  uint32_t device, context, stream;           // CUPTI's numbers
  uint32_t correlation;
  uint32_t graph;  // 0: not from a graph
  StringId name;   // kernels
  uint32_t shape;
  HostNs begin, end;
  uint64_t argument;  // bytes, or graph node id of a kernel
};

struct RangeEvent {
  ThreadIndex thread;
  wire::RangeKind kind;
  HostNs begin, end;
  StringId text, domain;
  uint64_t number;
  uint32_t range_id;
};

// StateEvent::what of the mark that ends a round: all that the process recorded before it has been given, GPU records apart.
inline constexpr uint32_t kStateDrained = 12;

// What happened to memory (wire::MemoryOperation says what bytes and extra mean).
struct MemoryEvent {
  wire::MemoryOperation operation;
  HostNs begin, end;
  uint64_t address;  // of the memory or the pool
  uint64_t bytes, extra;
  uint8_t memory_kind;    // CUpti_ActivityMemoryKind
  uint8_t device, flags;  // wire::kMemoryFlag*
  uint32_t correlation;   // 0: not known
};

// A stretch in which the driver loaded or compiled code, on a thread of the program.
struct CodeLoadEvent {
  wire::CodeLoadKind kind;
  HostNs begin, end;
  uint32_t tid;          // 0: that of the call with this correlation id
  uint32_t correlation;  // 0: not known
  uint64_t bytes;
};

// A context of the program, as CUPTI tells of it.
struct ContextInfo {
  uint32_t id, device, multiprocessors, parent;
  bool mps, green;
};

enum class NamedKind : uint8_t { kThread = 1, kStream = 2, kContext = 3, kDevice = 4 };
// What the program called something, through NVTX.
struct NamedInfo {
  NamedKind kind;
  uint64_t value;  // tid, handle or device number
  std::string_view name;
};

struct StateEvent {
  uint32_t what;  // stallscope.v1.State.What
  HostNs at;
  uint64_t value;
  std::string text;
};

struct ThreadSampleEvent {
  ThreadIndex thread;
  HostNs at;
  uint64_t on_cpu_ns, run_delay_ns, voluntary_switches, involuntary_switches;  // cumulative
};

// Cumulative counters of one process; field by field as in stallscope.v1.Health.
struct HealthEvent {
  HostNs at = 0;
  uint64_t events = 0, ring_lost = 0, short_waits = 0;
  uint64_t counters[static_cast<int>(32)] = {};
  uint64_t agent_cpu_ns = 0, process_cpu_ns = 0, socket_bytes = 0;
  uint32_t level = 0;
  struct Governor {
    static constexpr uint32_t kNoGpuRecords = 2;  // of `why`
    bool known = false;
    uint32_t why = 0;  // stallscope.v1.Health.Governor.Why
    uint32_t asked_level = 0, cost_ppm = 0, limit_ppm = 0, callback_ns = 0;
    bool node_window = false;
  } governor;
};

// IdentityEvent::reaches of a descriptor that is a file of data or a disk: nobody waits at its other end.
inline constexpr std::string_view kDiskFile = "file";

// What an object of the process is for other processes (Intern.Identity of the schema). Takes the place of an earlier one.
struct IdentityEvent {
  uint64_t object;
  std::string_view reaches;                  // what a wake-up through it goes to; "": nothing known
  std::vector<std::string_view> reached_by;  // what ends a wait on it
};

// Records of one thread's ring [first, first + count) were overwritten before anybody read them.
struct LossEvent {
  ThreadIndex thread;
  uint64_t records;
  HostNs from, to;  // between which times, as far as is known
};

// A GPU that the process uses, as its library names it.
struct DeviceInfo {
  uint32_t device;  // CUDA's number, as in GpuOpEvent::device
  std::string_view name;
  bool simulated;
  uint32_t multiprocessors = 0;
  bool mig = false;  // a part of a GPU
  uint32_t gpu_instance = 0, compute_instance = 0;
};

struct ProcessIdentity {
  std::string boot_id;
  uint32_t pid = 0;
  uint64_t start_ticks = 0;
  bool operator==(const ProcessIdentity&) const = default;
};

struct ProcessInfo {
  uint32_t process = 0;  // number within the collector or capture
  ProcessIdentity identity;
  uint32_t parent_pid = 0, uid = 0;
  std::string executable, process_name, agent_version;
  HostNs agent_start = 0;
  bool streaming = false, simulated_gpu = false;
  uint32_t level = 0;
};

struct ThreadInfo {
  ThreadIndex thread = 0;
  uint32_t tid = 0;
  std::string name;
  HostNs begin = 0;
};

// Where a call was made from: return addresses, innermost first, in the modules of that generation.
struct StackInfo {
  std::vector<uint64_t> frames;
  uint32_t generation = 0;
  bool cut = false;  // there are frames further out
};

// A program or library as it was mapped, from the first to the last generation (0: it still is).
struct ModuleInfo {
  uint64_t begin = 0, bytes = 0;
  uint64_t bias = 0;  // an address less this is the file's own
  std::string build_id, path;
  uint32_t first_generation = 0, last_generation = 0;
};

// Names of one process. Valid for as long as the process is known; views stay valid (nothing is removed).
class ProcessNames {
 public:
  virtual ~ProcessNames() = default;
  virtual std::string_view String(StringId id) const = 0;  // "" when unknown
  // "cudaDeviceSynchronize_v3020" as the library says it; "cuda_runtime_<n>" when unknown.
  virtual std::string_view CallName(wire::CudaDomain domain, uint16_t call) const = 0;
  virtual const ThreadInfo* Thread(ThreadIndex thread) const = 0;  // nullptr when unknown
  // nullptr when unknown. Whoever shows stacks finds their functions through collector/symbols.
  virtual const StackInfo* Stack(StackId) const { return nullptr; }
  virtual const ModuleInfo* Module(uint64_t /*address*/, uint32_t /*generation*/) const { return nullptr; }
  virtual std::string_view CodeName(uint64_t /*address*/) const { return {}; }  // of code that no file holds
};

// Receives the events of one process, each thread's (and each GPU record source's) in the order in which they ended;
// there is no order between threads. Single thread. The arguments are valid during the call only.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnThread(const ThreadInfo&) {}
  virtual void OnDevice(const DeviceInfo&) {}
  virtual void OnWait(const WaitEvent&) {}
  virtual void OnWake(const WakeEvent&) {}
  virtual void OnCudaCall(const CudaCallEvent&) {}
  virtual void OnGpuOp(const GpuOpEvent&) {}
  virtual void OnRange(const RangeEvent&) {}
  virtual void OnMemory(const MemoryEvent&) {}
  virtual void OnCodeLoad(const CodeLoadEvent&) {}
  virtual void OnContext(const ContextInfo&) {}
  virtual void OnNamed(const NamedInfo&) {}
  virtual void OnState(const StateEvent&) {}
  virtual void OnIdentity(const IdentityEvent&) {}
  virtual void OnThreadSample(const ThreadSampleEvent&) {}
  virtual void OnHealth(const HealthEvent&) {}
  virtual void OnLoss(const LossEvent&) {}
  virtual void OnClock(HostNs monotonic, int64_t realtime_ns, uint64_t gpu_uncertainty_ns) {
    (void)monotonic, (void)realtime_ns, (void)gpu_uncertainty_ns;
  }
  virtual void OnGoodbye(HostNs, bool /*exec*/) {}
};

// Receives whole processes: a collector's sessions, or the content of a capture file.
class ProcessSink {
 public:
  virtual ~ProcessSink() = default;
  // A new process. `names` outlives the returned sink; the sink is owned by the ProcessSink. Never nullptr.
  virtual EventSink* OnProcess(const ProcessInfo& process, const ProcessNames* names) = 0;

  // Whoever feeds a capture gives the owner of each process's names here before OnProcess, so that they live as long as
  // this sink (reports are made after the file was read). Members of a derived class are gone before they are.
  void KeepAlive(std::shared_ptr<const void> owner) { kept_alive_.push_back(std::move(owner)); }

 private:
  std::vector<std::shared_ptr<const void>> kept_alive_;
};

}  // namespace stallscope
