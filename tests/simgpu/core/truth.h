// The truth of a run, to measure a stall budget against: what ran on the device and when, and who waited for it.
//
// Kept in memory while `truth` is configured and written at exit as one JSON object a line:
//   {"op":"kernel|copy|fill|graph","name":..,"stream":..,"begin_ns":..,"end_ns":..,"correlation_id":..}
//   {"wait":"event|stream|context|copy","tid":..,"begin_ns":..,"ready_ns":..,"end_ns":..}
// ready_ns is when the awaited work really ended, so end_ns - max(ready_ns, begin_ns) is the over-wait.
// All times CLOCK_MONOTONIC.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_TRUTH_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_TRUTH_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simgpu/core/trace.h"

namespace simgpu {

class TruthLog {
 public:
  explicit TruthLog(std::string path) : path_(std::move(path)) {}

  bool enabled() const { return !path_.empty(); }
  void AddOperation(const Operation& operation);
  void AddGraph(const GraphOperation& operation);
  void AddWait(const char* kind, uint64_t begin_ns, uint64_t ready_ns, uint64_t end_ns);
  void Write();

 private:
  struct OperationLine {
    const char* kind;
    const Kernel* kernel;
    uint32_t graph_id;
    uint32_t stream_id;
    uint32_t correlation_id;
    Span span;
  };
  struct WaitLine {
    const char* kind;
    int thread_id;
    uint64_t begin_ns, ready_ns, end_ns;
  };

  const std::string path_;
  std::mutex mutex_;  // guards the lines
  std::vector<OperationLine> operations_;
  std::vector<WaitLine> waits_;
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_TRUTH_H_
