#include "collector/steps/step_finder.h"

#include <utility>

namespace stallscope {

void StepFinder::OnCall(ThreadIndex thread, uint64_t number, Call* call) {
  if (!IsBlockingCuda(*call)) return;
  SyncContext context;
  context.thread = thread;
  context.call_number = number;
  context.begin = call->begin;
  context.end = call->end;
  context.no_records = HasFlag(*call, wire::kCudaFlagNoCupti);
  call->sync_plus_one = static_cast<uint32_t>(contexts_.Push(context)) + 1;
}

void StepFinder::OnRange(const RangeEvent& range) {
  Boundary boundary;
  if (marker_.OnRange(range, &boundary)) Deliver(Method::kMarker, boundary);
  if (engine_.OnRange(range, &boundary)) Deliver(Method::kEngine, boundary);
}

void StepFinder::Deliver(Method method, const Boundary& boundary) {
  if (method < method_) return;
  const bool same = method == method_;
  method_ = method;
  if (same && last_boundary_ != INT64_MIN && boundary.at > last_boundary_) {
    found_.push_back({last_boundary_, boundary.at, boundary.thread, boundary.tokens, boundary.copy_correlation});
  }
  if (!same || boundary.at > last_boundary_) last_boundary_ = std::max(last_boundary_, boundary.at);
}

std::vector<StepInterval> StepFinder::TakeSteps() { return std::exchange(found_, {}); }

StepFinder::Verdict StepFinder::Describe() const {
  switch (method_) {
    case Method::kMarker:
      return {"marker", 1.0, "the program marks each step", "marker"};
    case Method::kEngine:
      return {"engine", 1.0, "the engine's decode calls were seen", "engine"};
    case Method::kNone:
      break;
  }
  return {"none", 0.0, "no step marker and no engine call was seen yet", "steps only"};
}

}  // namespace stallscope
