#include "collector/steps/step_finder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace stallscope {
namespace {

// So many engine steps without any read-back before A is given up in a process that runs kernels.
constexpr uint64_t kEngineStepsWithoutDelivery = 16;
constexpr size_t kEngineLog = 1024;
constexpr int64_t kEngineReadsWithinNs = 1'000'000'000;
// Nobody outside confirms a boundary that A found alone.
constexpr double kUnconfirmedCap = 0.95;
constexpr double kCadenceCap = 0.5;

}  // namespace

void StepFinder::OnCall(ThreadIndex thread, uint64_t number, Call* call) {
  SyncContext* context = nullptr;
  if (IsBlockingCuda(*call) || MayBeBlockingCopy(*call)) {
    SyncContext fresh;
    fresh.thread = thread;
    fresh.call_number = number;
    fresh.begin = call->begin;
    fresh.end = call->end;
    const uint64_t context_number = contexts_.Push(fresh);
    call->sync_plus_one = static_cast<uint32_t>(context_number) + 1;
    context = &contexts_[context_number];
  }
  if (streams_.OnCall(thread, *call, context, &delivery_)) deliveries_.OnDelivery(delivery_);
  if (HasFlag(*call, wire::kCudaFlagCapturing)) return;
  if (call->call_class == wire::CudaCallClass::kLaunch) {
    ++kernels_;
    deliveries_.OnTime(call->end);
  } else if (call->call_class == wire::CudaCallClass::kGraphLaunch) {
    ++kernels_;
    deliveries_.OnTime(call->end);
    Boundary boundary;
    const bool found = graphs_.OnGraphLaunch(thread, *call, &boundary);
    if (found && deliveries_.deliveries_with_work() == 0) Deliver(Method::kGraphCadence, boundary);
  }
  TakeDeliveries();
}

void StepFinder::TakeDeliveries() {
  for (const Boundary& boundary : deliveries_.TakeBoundaries()) Deliver(Method::kDelivery, boundary);
  if (engine_counts_tokens_) EmitHeldIfRead(INT64_MAX);
}

void StepFinder::OnRange(const RangeEvent& range) {
  Boundary boundary;
  if (marker_.OnRange(range, &boundary)) {
    Deliver(Method::kMarker, boundary);
  }
  if (range.kind == wire::RangeKind::kEngineToken) engine_counts_tokens_ = true;
  const bool engine_step = engine_.OnRange(range, &boundary);
  if (engine_step) {
    engine_log_.push_back(boundary);
    if (engine_log_.size() > kEngineLog) engine_log_.pop_front();
    EmitHeldIfRead(INT64_MAX);
    ++engine_steps_;
    const bool no_deliveries = deliveries_.deliveries_with_work() == 0;
    if (kernels_ == 0 || (no_deliveries && engine_steps_ > kEngineStepsWithoutDelivery)) {
      Deliver(Method::kEngine, boundary);
    }
  }
}

void StepFinder::Deliver(Method method, Boundary boundary) {
  if (method < method_) return;
  if (method != method_) {
    // Steps of the less trusted source end here; the first boundary of the better one begins its series.
    held_.at = INT64_MIN;
    method_ = method;
    last_boundary_ = std::max(last_boundary_, boundary.at);
    if (method == Method::kDelivery) {
      const auto later = std::count_if(engine_log_.begin(), engine_log_.end(),
                                       [&boundary](const Boundary& engine) { return engine.at >= boundary.at; });
      engine_steps_before_deliveries_ = engine_steps_ - static_cast<uint64_t>(later);
    }
    return;
  }
  if (boundary.at <= last_boundary_) return;
  const HostNs begin = std::exchange(last_boundary_, boundary.at);
  if (begin == INT64_MIN) return;
  if (method == Method::kDelivery && engine_counts_tokens_) {
    HoldForEngine(begin, boundary);
    return;
  }
  if (method == Method::kDelivery) ++delivery_steps_;
  found_.push_back({begin, boundary.at, boundary.thread, boundary.tokens, boundary.copy_correlation});
}

void StepFinder::HoldForEngine(HostNs begin, const Boundary& boundary) {
  EmitHeldIfRead(boundary.at);
  if (held_.at == INT64_MIN) step_begin_of_held_ = begin;
  held_ = boundary;
}

void StepFinder::EmitHeldIfRead(HostNs before) {
  if (held_.at == INT64_MIN) return;
  auto next = std::lower_bound(engine_log_.begin(), engine_log_.end(), held_.at,
                               [](const Boundary& engine, HostNs t) { return engine.at < t; });
  uint64_t tokens = 0;
  for (; next != engine_log_.end() && next->at < before; ++next) tokens += next->tokens;
  if (tokens > 0) EmitHeld(tokens);
}

void StepFinder::EmitHeld(uint64_t engine_tokens) {
  if (held_.at == INT64_MIN) return;
  ++delivery_steps_;
  found_.push_back({step_begin_of_held_, held_.at, held_.thread, engine_tokens, held_.copy_correlation});
  held_.at = INT64_MIN;
}

void StepFinder::OnHorizon(HostNs until) {
  // The engine has nothing more to do; it has read what there was.
  if (held_.at != INT64_MIN && until - held_.at > kEngineReadsWithinNs) EmitHeld(engine_.tokens_read());
}

void StepFinder::Finish() {
  deliveries_.Finish();
  TakeDeliveries();
  EmitHeldIfRead(INT64_MAX);
  EmitHeld(engine_.tokens_read());
}

HostNs StepFinder::open_since() const {
  const HostNs open = held_.at != INT64_MIN ? step_begin_of_held_ : last_boundary_;
  const HostNs learning = deliveries_.learning_since();
  if (open == INT64_MIN || learning == INT64_MIN) return std::max(open, learning);
  return std::min(open, learning);
}

void StepFinder::ForgetBefore(HostNs at) {
  if (held_.at != INT64_MIN && step_begin_of_held_ < at) step_begin_of_held_ = std::min(at, held_.at - 1);
  if (last_boundary_ != INT64_MIN && last_boundary_ < at) last_boundary_ = at;
}

std::vector<StepInterval> StepFinder::TakeSteps() { return std::exchange(found_, {}); }

double StepFinder::ConfidenceOfDelivery(std::string* why) const {
  const uint64_t found = delivery_steps_ + 1;  // the first delivery ends a step that began before it
  const uint64_t told = engine_steps_ - engine_steps_before_deliveries_;
  constexpr uint64_t kEnoughToCompare = 4;
  if (told >= kEnoughToCompare) {
    // The newest told step may still be on its way through A, or the reverse.
    const double error =
        std::max(0.0, std::abs(static_cast<double>(found) - static_cast<double>(told)) - 1) / static_cast<double>(told);
    *why = absl::StrCat("read-backs that bring new forward work: ", found, " steps, where the engine's own calls tell ",
                        told);
    return std::max(0.0, 1 - error);
  }
  const double regular = deliveries_.Regularity();
  *why = absl::StrFormat(
      "read-backs that bring new forward work; %.0f %% of them alike, nothing outside to compare with", 100 * regular);
  return kUnconfirmedCap * regular;
}

StepFinder::Verdict StepFinder::Describe() const {
  Verdict verdict;
  verdict.tokens_source = "steps only";
  switch (method_) {
    case Method::kMarker:
      verdict = {"marker", 1.0, "the program marks each step itself", "marker"};
      break;
    case Method::kDelivery:
      verdict.method = "token delivery";
      verdict.confidence = ConfidenceOfDelivery(&verdict.why);
      if (deliveries_.counts_tokens()) verdict.tokens_source = "copy size";
      if (engine_counts_tokens_) verdict.tokens_source = "engine";
      break;
    case Method::kEngine:
      verdict = {"engine", 1.0, "the engine's decode calls and reads of scores were seen", "engine"};
      break;
    case Method::kGraphCadence:
      verdict.method = "graph cadence";
      verdict.confidence = kCadenceCap;
      verdict.why = "no read-back was waited for, so each launch of the most launched graph counts as a step";
      break;
    case Method::kNone:
      verdict.method = "none";
      if (kernels_ == 0 && engine_steps_ == 0) {
        verdict.why = "no kernel, no call of a known engine and no step marker was seen yet";
      } else if (kernels_ == 0) {
        verdict.why = "one engine step was seen; two are needed for an interval";
      } else if (deliveries_.deliveries() == 0) {
        verdict.why =
            "kernels ran, but nothing waited for a device-to-host copy: where tokens leave the GPU was not seen";
      } else if (deliveries_.deliveries_with_work() == 0) {
        verdict.why = "device-to-host copies were waited for, but none had a forward pass behind it";
      } else if (!deliveries_.decided()) {
        verdict.why = absl::StrCat("learning which read-back is the token: ", deliveries_.deliveries_with_work(),
                                   " of ", DeliveryFinder::kLearnDeliveries, " seen");
      } else {
        verdict.why = "one token delivery was seen; two are needed for a step";
      }
      break;
  }
  return verdict;
}

}  // namespace stallscope
