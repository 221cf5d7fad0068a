// Finds the decode steps of a process (docs/budget.md section 5) and says how sure that is.
//
// Fed by ProcessAnalysis with CUDA calls and marks of all threads in the order in which they ended. Everything it
// decides depends on that order alone, never on when it was asked, so live and offline agree. Single thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/steps/step_interval.h"
#include "collector/steps/sync_context.h"
#include "collector/steps/told_steps.h"
#include "collector/timeline/call.h"
#include "collector/timeline/sequence_deque.h"

namespace stallscope {

class StepFinder {
 public:
  struct Options {
    uint32_t vocabulary = 0;
    int forward_kernel_threshold = 8;
  };
  struct Verdict {
    std::string method;  // as ProcessReport::segmentation_method
    double confidence = 0;
    std::string why;
    std::string tokens_source;
  };

  explicit StepFinder(const Options& options) : options_(options) {}

  // `call` may be changed: blocking calls get the number of their SyncContext.
  void OnCall(ThreadIndex thread, uint64_t number, Call* call);
  void OnRange(const RangeEvent& range);
  // No more will come: what is still undecided is decided now.
  void Finish() {}

  // Steps found since the last call, in order.
  std::vector<StepInterval> TakeSteps();
  // Where the step that is being made began; INT64_MIN before the first delivery.
  HostNs open_since() const { return last_boundary_; }
  // Forgets that a step began before `at`: it is too long ago to be attributed.
  void ForgetBefore(HostNs at) {
    if (last_boundary_ != INT64_MIN && last_boundary_ < at) last_boundary_ = at;
  }

  Verdict Describe() const;
  const SequenceDeque<SyncContext>& contexts() const { return contexts_; }
  SequenceDeque<SyncContext>& contexts() { return contexts_; }

 private:
  enum class Method { kNone, kEngine, kMarker };
  void Deliver(Method method, const Boundary& boundary);

  Options options_;
  Method method_ = Method::kNone;
  HostNs last_boundary_ = INT64_MIN;
  std::vector<StepInterval> found_;
  MarkerSteps marker_;
  EngineSteps engine_;
  SequenceDeque<SyncContext> contexts_;
};

}  // namespace stallscope
