// The truth of a run, to measure a stall budget against: what ran on the device and when, who called, who waited for
// what, and what the program itself says it did.
//
// Kept in memory while `truth` is configured and written at exit as one JSON object a line; docs/truth.md describes
// every field. All times CLOCK_MONOTONIC nanoseconds.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_TRUTH_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_TRUTH_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simgpu/core/trace.h"

namespace simgpu {

// What a call waited for: a stream's work, or with stream 0 a whole device's. Device -1: not told.
struct Awaited {
  int device = -1;
  uint32_t stream_id = 0;
};

class TruthLog {
 public:
  explicit TruthLog(std::string path) : path_(std::move(path)) {}

  bool enabled() const { return !path_.empty(); }
  void AddOperation(const Operation& operation);
  void AddGraph(const GraphOperation& operation);
  void AddWait(const char* kind, Awaited awaited, uint64_t begin_ns, uint64_t ready_ns, uint64_t end_ns);
  void AddCall(const char* name, uint64_t begin_ns, uint64_t end_ns);  // `name` lives as long as the process
  void AddNote(const char* json_object);                               // a line of the program's own
  void Write();

 private:
  struct OperationLine {
    const char* kind;
    const Kernel* kernel;
    const char* direction;  // of a copy: "h2d"
    uint64_t bytes;         // of a copy or fill
    int device;
    uint32_t graph_id;
    uint32_t stream_id;
    uint32_t correlation_id;
    int thread_id;
    uint64_t queued_ns;
    Span span;
  };
  struct CallLine {
    const char* name;
    int thread_id;
    uint64_t begin_ns, end_ns;
  };
  struct WaitLine {
    const char* kind;
    Awaited awaited;
    int thread_id;
    uint64_t begin_ns, ready_ns, end_ns;
  };

  const std::string path_;
  std::mutex mutex_;  // guards the lines
  std::vector<OperationLine> operations_;
  std::vector<WaitLine> waits_;
  std::vector<CallLine> calls_;
  std::vector<std::string> notes_;
};

}  // namespace simgpu

// For programs that know more than the device does (steps, tokens, locks): one line of the truth, as it is. Found by
// dlsym; does nothing while no truth is written. Any thread.
extern "C" void simgpu_truth_note(const char* json_object);

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_TRUTH_H_
