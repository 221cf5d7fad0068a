// Everything the collector concludes about one process: timeline -> steps -> attribution -> windows.
//
// Single thread. Live: the session feeds events as they come and calls Advance a few times a second; a step closes when
// its records are complete or the late limit passed (docs/budget.md section 6). Offline: feed a whole capture, then
// Finish. Both ways give the same numbers for the same events. Memory: bounded by the late limit times the event rate
// plus fixed windows; it does not grow with uptime.
#pragma once

#include <cstdint>
#include <memory>

#include "collector/base/event.h"
#include "collector/budget/report.h"

namespace stallscope {

class HostWakes;

struct AnalysisOptions {
  HostWakes* host_wakes = nullptr;  // the processes of one host or capture share it; borrowed, outlives them
  int64_t late_limit_ns = 2'000'000'000;
  int64_t skew_margin_ns = 10'000;  // over-waits below count as zero
  uint32_t vocabulary = 0;          // 0: learn the token unit from copy sizes
  int merge_kernel_threshold = 8;   // K: kernels in a closure that count as forward work without a graph
};

// What happened in one closed step; given to the observer in order. A step that closed as late is given a second time, with
// its old index, when its records have come after all.
struct StepRecord {
  uint64_t index;
  HostNs begin, end;
  uint64_t tokens;
  LineSums lines;  // sums to end - begin exactly
  LineSums hidden;
  bool late;  // closed by the limit, with unknown.late
};

class ProcessAnalysis : public EventSink {
 public:
  using StepObserver = void (*)(void* context, const StepRecord&);

  static std::unique_ptr<ProcessAnalysis> Create(const ProcessInfo& process, const ProcessNames* names,
                                                 const AnalysisOptions& options);

  // Closes what can be closed, given that events up to about `now` have been fed.
  virtual void Advance(HostNs now) = 0;
  // No more events will come: closes everything.
  virtual void Finish() = 0;

  // The window of the last `window_ns` before `now`; window_ns <= 0: everything since the start.
  virtual ProcessReport Report(int64_t window_ns, HostNs now) const = 0;

  virtual void SetStepObserver(StepObserver observer, void* context) = 0;
};

}  // namespace stallscope
