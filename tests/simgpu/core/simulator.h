// The one simulated machine of a process: its devices, memory, kernels and streams. The drop-in libraries (cudart,
// cuda, cublas, cupti) are thin layers over it. Created by the first call that needs it and never destroyed, since
// programs call CUDA from exit handlers.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_SIMULATOR_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_SIMULATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/simgpu/core/capture.h"
#include "tests/simgpu/core/clock.h"
#include "tests/simgpu/core/config.h"
#include "tests/simgpu/core/host_tasks.h"
#include "tests/simgpu/core/kernels.h"
#include "tests/simgpu/core/memory.h"
#include "tests/simgpu/core/pools.h"
#include "tests/simgpu/core/timeline.h"
#include "tests/simgpu/core/trace.h"
#include "tests/simgpu/core/truth.h"

namespace simgpu {

// A program's cudaEvent_t.
struct Event {
  uint32_t id = 0;
  bool timing = true;
  WaitMode wait_mode = WaitMode::kSpin;
  Device* device = nullptr;
  std::atomic<uint64_t> mark_ns{0};    // when it completes; 0: never recorded, counts as complete
  std::atomic<uint32_t> stream_id{0};  // where it was last recorded
  uint64_t capture_id = 0;             // when last recorded inside a capture, with the nodes it stands for
  std::vector<int> capture_nodes;
  HostTaskList host_tasks;  // that were before it on the stream; guarded by the simulator's mutex of these
  std::atomic<bool> has_host_tasks{false};
  // For events of several processes: the mark where all of them see it; null otherwise.
  std::atomic<std::atomic<uint64_t>*> shared_mark_ns{nullptr};

  uint64_t MarkNs() const;
};

class Simulator {
 public:
  static Simulator& Get();

  // For tests: a machine of its own, on a clock that the test moves. `config` and `clock` outlive it.
  Simulator(const Config& config, Clock& clock);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  const Config& config() const { return config_; }
  Clock& clock() { return clock_; }
  Memory& memory() { return memory_; }
  Pools& pools() { return pools_; }
  KernelTable& kernels() { return kernels_; }
  TruthLog& truth() { return truth_; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  Device* device(int ordinal) { return devices_[static_cast<size_t>(ordinal)].get(); }

  // Puts work on a stream, or into the graph that the stream captures. Bytes move at once, or behind the host functions
  // before them; the span is in the future. Returns an empty span while capturing.
  Span Submit(Stream* stream, const Work& work);
  void SubmitGraph(Stream* stream, const GraphExec& exec);

  // `external`: inside a capture this becomes a node that records or waits each time the graph runs.
  void RecordEvent(Event* event, Stream* stream, bool external = false);
  void StreamWaitEvent(Stream* stream, Event* event, bool external = false);
  Event* NewEvent(Device* device, bool timing, WaitMode wait_mode);
  void DestroyEvent(Event* event);

  // What cudaStreamSynchronize and its like do: until the simulated end and until host functions have returned.
  void SynchronizeStream(Stream* stream, WaitMode mode, const char* kind = "stream");
  void SynchronizeEvent(Event* event);
  void SynchronizeDevice(Device* device, WaitMode mode);
  void WaitForHostTasks(Stream* stream);
  bool StreamIsDone(Stream* stream);
  bool EventIsDone(Event* event);

  // False: it captures already. Into a graph of the program's, behind `dependencies`, when one is given.
  bool BeginCapture(Stream* stream, Graph* graph = nullptr, std::vector<int> dependencies = {});
  // The default stream was used while blocking streams of the device capture: those captures are lost. True if any was.
  bool InvalidateBlockingCaptures(const Device* device);
  // Null when the stream captures nothing as the origin, or when a joined stream was not joined back.
  Graph* EndCapture(Stream* stream);

  // Blocks until the simulated moment `ready_ns` plus the wake-up latency of `mode`. At once if it has passed.
  void BlockUntil(uint64_t ready_ns, WaitMode mode, const char* kind, Awaited awaited = {});
  // A call that costs host time (allocation, registration, instantiation).
  void SpendHostTime(uint64_t ns);

 private:
  // Moves the bytes of one operation now, or puts them behind the host functions that it has to wait for.
  void Perform(Stream* stream, const Work& work, Span span);
  void Defer(Stream* stream, const Work& work, Span span);
  bool WaitsForHost(Stream* stream);
  // Takes note of host functions that took longer than modelled.
  void SettleHostTasks(Stream* stream);

  const Config config_;
  Clock& clock_;
  Memory memory_;
  Pools pools_;
  HostTasks host_tasks_;
  std::mutex host_mutex_;  // guards the task lists of streams and events
  KernelTable kernels_;
  TruthLog truth_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::atomic<uint32_t> next_event_id_{1};
  std::mutex events_mutex_;  // guards events_
  std::unordered_map<const Event*, std::unique_ptr<Event>> events_;
  std::atomic<size_t> capture_count_{0};
  std::mutex captures_mutex_;                                        // guards captures_
  std::unordered_map<uint64_t, std::unique_ptr<Capture>> captures_;  // under way, by id
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_SIMULATOR_H_
