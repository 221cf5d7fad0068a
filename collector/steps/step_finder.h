// Finds the decode steps of a process (docs/budget.md section 5) and says how sure that is.
//
// Fed by ProcessAnalysis with CUDA calls and marks of all threads in the order in which they ended. Everything it
// decides depends on that order alone, never on when it was asked, so live and offline agree. Single thread.
//
// Which segmentation is used: our marker, if the program calls it; else the delivery of tokens (A); else the calls of a
// known engine; else the cadence of graphs (B). Where kernels run, the engine's calls only count and calibrate A,
// unless A finds nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/steps/delivery_finder.h"
#include "collector/steps/graph_cadence.h"
#include "collector/steps/step_interval.h"
#include "collector/steps/stream_tracker.h"
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

  explicit StepFinder(const Options& options) : deliveries_(options.vocabulary, options.forward_kernel_threshold) {}

  // `call` may be changed: blocking calls get the number of their SyncContext.
  void OnCall(ThreadIndex thread, uint64_t number, Call* call);
  void OnRange(const RangeEvent& range);
  // Everything that ended until `until` has been fed.
  void OnHorizon(HostNs until);
  // No more will come: what is still undecided is decided now.
  void Finish();

  // Steps found since the last call, in order.
  std::vector<StepInterval> TakeSteps();
  // Where the earliest step began that may still be found, also those held while it is learned which read-back is the
  // token; INT64_MIN before the first delivery.
  HostNs open_since() const;
  // Forgets that a step began before `at`: it is too long ago to be attributed.
  void ForgetBefore(HostNs at);

  Verdict Describe() const;
  uint64_t mid_step_syncs() const { return deliveries_.mid_step_syncs(); }
  const SequenceDeque<SyncContext>& contexts() const { return contexts_; }
  SequenceDeque<SyncContext>& contexts() { return contexts_; }

 private:
  // In the order of rising trust.
  enum class Method { kNone, kGraphCadence, kEngine, kDelivery, kMarker };
  void TakeDeliveries();
  void Deliver(Method method, Boundary boundary);
  void HoldForEngine(HostNs begin, const Boundary& boundary);
  // Emits the held step if the engine's decode call after it came before `before`.
  void EmitHeldIfRead(HostNs before);
  void EmitHeld(uint64_t engine_tokens);
  double ConfidenceOfDelivery(std::string* why) const;

  StreamTracker streams_;
  DeliveryFinder deliveries_;
  GraphCadence graphs_;
  MarkerSteps marker_;
  EngineSteps engine_;
  SequenceDeque<SyncContext> contexts_;
  Delivery delivery_;  // scratch

  Method method_ = Method::kNone;
  HostNs last_boundary_ = INT64_MIN;
  std::vector<StepInterval> found_;
  // With an engine whose reads are seen, a delivered step waits for the engine's next decode call, which tells its
  // tokens.
  Boundary held_{INT64_MIN, 0, 0, 0};
  HostNs step_begin_of_held_ = INT64_MIN;
  bool engine_counts_tokens_ = false;
  std::deque<Boundary> engine_log_;  // the last engine steps, for deliveries that are judged late

  uint64_t kernels_ = 0, engine_steps_ = 0;
  // To calibrate A: what it found (micro-batches of one engine step count once) and what the engine told since its
  // first delivery.
  uint64_t delivery_steps_ = 0, engine_steps_before_deliveries_ = 0;
};

}  // namespace stallscope
