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
#include "tests/simgpu/core/kernels.h"
#include "tests/simgpu/core/memory.h"
#include "tests/simgpu/core/timeline.h"
#include "tests/simgpu/core/trace.h"
#include "tests/simgpu/core/truth.h"

namespace simgpu {

inline constexpr char kDeviceName[] = "Simulated GPU (H200-like)";

// A program's cudaEvent_t.
struct Event {
  uint32_t id = 0;
  bool timing = true;
  WaitMode wait_mode = WaitMode::kSpin;
  Device* device = nullptr;
  std::atomic<uint64_t> mark_ns{0};  // when it completes; 0: never recorded, counts as complete
  uint64_t capture_id = 0;           // when last recorded inside a capture, with the nodes it stands for
  std::vector<int> capture_nodes;
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
  KernelTable& kernels() { return kernels_; }
  TruthLog& truth() { return truth_; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  Device* device(int ordinal) { return devices_[static_cast<size_t>(ordinal)].get(); }

  // Puts work on a stream, or into the graph that the stream captures. Bytes move at once; the span is in the future.
  // Returns an empty span while capturing.
  Span Submit(Stream* stream, const Work& work);
  void SubmitGraph(Stream* stream, const GraphExec& exec);

  void RecordEvent(Event* event, Stream* stream);
  void StreamWaitEvent(Stream* stream, Event* event);
  Event* NewEvent(Device* device, bool timing, WaitMode wait_mode);

  bool BeginCapture(Stream* stream);  // false: it captures already
  // Null when the stream captures nothing as the origin, or when a joined stream was not joined back.
  Graph* EndCapture(Stream* stream);

  // Blocks until the simulated moment `ready_ns` plus the wake-up latency of `mode`. At once if it has passed.
  void BlockUntil(uint64_t ready_ns, WaitMode mode, const char* kind);
  // A call that costs host time (allocation, registration, instantiation).
  void SpendHostTime(uint64_t ns);

 private:
  const Config config_;
  Clock& clock_;
  Memory memory_;
  KernelTable kernels_;
  TruthLog truth_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::atomic<uint32_t> next_event_id_{1};
  std::mutex captures_mutex_;                                        // guards captures_
  std::unordered_map<uint64_t, std::unique_ptr<Capture>> captures_;  // under way, by id
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_SIMULATOR_H_
