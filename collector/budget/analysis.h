// The class behind ProcessAnalysis, in one piece; its work lies in process_analysis.cc (events, closing of steps),
// analysis_report.cc (the report) and analysis_walks.cc (walks that come from, and go to, other processes).
//
// Not included from elsewhere. Single thread.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/budget/agent_report.h"
#include "collector/budget/attribution.h"
#include "collector/budget/cpu_shortage.h"
#include "collector/budget/late_steps.h"
#include "collector/budget/process_analysis.h"
#include "collector/budget/report_text.h"
#include "collector/governor/graph_mix.h"
#include "collector/memory/code_loads.h"
#include "collector/memory/gpu_places.h"
#include "collector/memory/memory_account.h"
#include "collector/steps/batch_composition.h"
#include "collector/steps/step_finder.h"
#include "collector/timeline/host_wakes.h"
#include "collector/timeline/poll_partners.h"
#include "collector/timeline/thread_numbers.h"
#include "collector/timeline/timeline.h"
#include "collector/windows/windows.h"

namespace stallscope {

// Threads hand in their events some tens of milliseconds late; until then the order between threads is not known.
inline constexpr int64_t kReorderNs = 200'000'000;
// How long after a step's end a call may end and still be seen by its attribution. Below kReorderNs, so that it has
// come.
inline constexpr int64_t kSettleNs = 50'000'000;
// A process whose rounds have ended with a mark (kStateDrained) is advanced to its marks, and without any for so long to
// what it has sent; one that never sent a mark to the time or, fed without Advance (a capture file), once so many events
// have come.
inline constexpr int64_t kLongestRoundNs = 2'000'000'000;
inline constexpr uint64_t kSelfAdvanceEvents = 8192;

class Analysis final : public ProcessAnalysis, public HostWakes::Process, public WalkBack::Others {
 public:
  Analysis(const ProcessInfo& process, const ProcessNames* names, const AnalysisOptions& options)
      : process_(process),
        names_(names),
        options_(options),
        timeline_(&names_),
        graph_mix_(&names_),
        finder_({options.vocabulary, options.merge_kernel_threshold}),
        attribution_(&timeline_, &finder_.contexts(), {options.skew_margin_ns, kSettleNs}) {
    simulated_gpu_ = process.simulated_gpu;
    level_ = process.level;
    if (options_.host_wakes != nullptr) {
      member_ = options_.host_wakes->Join(this);
      attribution_.walk().SetOthers(this);
    }
  }
  ~Analysis() override {
    if (options_.host_wakes != nullptr) options_.host_wakes->Leave(member_);
  }

  void OnDevice(const DeviceInfo& device) override {
    if (device_name_.empty()) device_name_ = std::string(device.name);
    simulated_gpu_ = simulated_gpu_ || device.simulated;
    gpu_places_.OnDevice(device);
  }
  void OnContext(const ContextInfo& context) override { gpu_places_.OnContext(context); }
  void OnNamed(const NamedInfo& named) override { gpu_places_.OnNamed(named); }
  void OnMemory(const MemoryEvent& event) override {
    ++memory_events_;
    memory_.OnMemory(event);
  }
  void OnCodeLoad(const CodeLoadEvent& load) override {
    code_loads_.OnLoad(load);
    timeline_.AddCodeLoad(load);
  }
  void OnWait(const WaitEvent& event) override {
    WaitEvent wait = event;
    wait.thread = names_.Of(event.thread);
    timeline_.AddWait(wait);
    if (wait.object != 0 && wait.result >= 0 && IsTransmit(wait.call)) Reach(wait.thread, wait.object, wait.begin);
    Fed();
  }
  void OnWake(const WakeEvent& event) override {
    WakeEvent wake = event;
    wake.thread = names_.Of(event.thread);
    timeline_.AddWake(wake);
    Reach(wake.thread, wake.object, wake.at);
    Fed();
  }
  void OnCudaCall(const CudaCallEvent& event) override {
    CudaCallEvent call = event;
    call.thread = names_.Of(event.thread);
    timeline_.AddCudaCall(call);
    if (call.call_class == wire::CudaCallClass::kGraphLaunch) graph_mix_.OnLaunch(call.correlation, call.argument);
    memory_.OnCall(call);
    code_loads_.OnCall(call);
    Fed();
  }
  void OnGpuOp(const GpuOpEvent& op) override {
    timeline_.AddGpuOp(op);
    graph_mix_.OnOp(op);
    if (op.end > closed_until_begin_ && op.begin < closed_until_) {
      CountLate();
      late_record_came_ = true;
    }
    Fed();
  }
  void OnRange(const RangeEvent& range) override {
    ++range_events_;
    if (range.kind == wire::RangeKind::kPush || range.kind == wire::RangeKind::kStartEnd) {
      if (const auto batch = ParseBatchComposition(names_.String(range.text)); batch.has_value()) {
        batch_source_ = NameOf(batch->source);
        AddAt(range.end, [&batch](WindowSums* sums) { AddBatch(*batch, &sums->batch); });
      }
    }
    if (range.kind == wire::RangeKind::kStepMarker || range.kind == wire::RangeKind::kEngineDecode ||
        range.kind == wire::RangeKind::kEngineToken) {
      ranges_.push_back(range);
      ranges_.back().thread = names_.Of(range.thread);
    }
    Fed();
  }
  void OnThreadSample(const ThreadSampleEvent& event) override {
    ThreadSampleEvent sample = event;
    sample.thread = names_.Of(event.thread);
    cpu_shortage_.OnSample(sample);
    timeline_.AddSample(sample);
    Fed();
  }
  void OnLoss(const LossEvent& event) override {
    LossEvent loss = event;
    loss.thread = names_.Of(event.thread);
    timeline_.AddLoss(loss);
  }
  void OnHealth(const HealthEvent& health) override {
    health_ = health;
    timeline_.SetGpuRecordsOff(health.governor.known && health.governor.why == HealthEvent::Governor::kNoGpuRecords);
  }
  void OnClock(HostNs, int64_t, uint64_t gpu_uncertainty_ns) override {
    gpu_clock_uncertainty_ns_ = static_cast<int64_t>(std::min<uint64_t>(gpu_uncertainty_ns, INT64_MAX));
  }
  void OnState(const StateEvent& state) override;
  void OnIdentity(const IdentityEvent& identity) override {
    timeline_.SetDiskFile(identity.object, identity.reaches == kDiskFile);
    if (options_.host_wakes != nullptr) options_.host_wakes->OnIdentity(member_, identity);
  }

  void OnWokenBy(uint64_t object, HostNs at, HostWakes::Member from, ThreadIndex waker) override {
    if (from == member_) return timeline_.AddInferredWake(object, at, waker);
    const HostWakes::Process* other = options_.host_wakes->Get(from);
    const std::string name =
        absl::StrCat(std::string(other->Name()), "[", other->Pid(), "] ", other->ThreadName(waker));
    timeline_.AddForeignWake(object, at, names_.OfForeign(name), from, waker);
  }
  HostNs WalkBackFrom(const ForeignWalk& walk, std::vector<ForeignCharge>* charges) override;
  HostNs WalkOn(uint32_t member, const ForeignWalk& walk, wire::OsCall waited_in,
                std::vector<ChargeSheet::Charge>* charges) override;
  HostNs NeedsSince() const override { return needs_since_; }
  HostNs TakesLateWakesSince() const override {
    return drained_until_ == INT64_MIN ? INT64_MIN : drained_until_ - kReorderNs;
  }
  uint32_t Pid() const override { return process_.identity.pid; }
  std::string_view Name() const override { return process_.process_name; }
  std::string ThreadName(ThreadIndex thread) const override { return TextOfThread(thread, &names_); }

  void Advance(HostNs now) override { AdvanceTo(std::min(now, Complete()), false); }
  void Finish() override { AdvanceTo(timeline_.latest(), true); }
  ProcessReport Report(int64_t window_ns, HostNs now) const override;
  void SetStepObserver(StepObserver observer, void* context) override {
    observer_ = observer;
    observer_context_ = context;
  }

 private:
  void Fed() {
    if (++events_since_advance_ < kSelfAdvanceEvents) return;
    events_since_advance_ = 0;
    const HostNs reached = std::min(timeline_.latest(), Complete());
    if (advanced_to_ == INT64_MIN || reached - advanced_to_ >= kReorderNs / 2) {
      AdvanceTo(reached, false);
    }
  }
  void Reach(ThreadIndex thread, uint64_t object, HostNs at) {
    if (options_.host_wakes != nullptr) options_.host_wakes->OnWake(member_, thread, object, at);
  }
  // Nothing that ended before will come any more, but for GPU records; INT64_MAX: not known.
  HostNs Complete() const {
    if (drained_until_ == INT64_MIN) return INT64_MAX;
    if (timeline_.latest() == INT64_MIN) return drained_until_;
    return std::max(drained_until_, timeline_.latest() - kLongestRoundNs);
  }
  void CountLate() {
    ++windows_.total().late;
    if (WindowSums* bucket = windows_.BucketAt(closed_until_)) ++bucket->late;
  }
  void AdvanceTo(HostNs now, bool finishing);
  void FindSteps(HostNs until);
  void LearnWakers(ThreadIndex thread, const Call& call);
  void CloseSteps(HostNs now, bool finishing);
  void CloseSyncs(HostNs now, bool finishing);
  void CloseStep(const StepInterval& step);
  void CorrectLateSteps(HostNs now);
  void Tell(const StepInterval& step, uint64_t index);
  void GiveUpLaunches(HostNs at, HostNs* oldest_pending);
  void DropOld(HostNs now);
  void CountHealth(HostNs now);
  template <typename Add>
  void AddAt(HostNs at, const Add& add) {
    add(&windows_.total());
    if (WindowSums* bucket = windows_.BucketAt(at)) add(bucket);
  }

  const ProcessInfo process_;
  ThreadNumbers names_;  // from here on a thread is its number of this
  const AnalysisOptions options_;
  Timeline timeline_;
  GraphMix graph_mix_;
  std::string batch_source_;
  PollPartners poll_partners_;
  CpuShortage cpu_shortage_;
  MemoryAccount memory_;
  CodeLoads code_loads_;
  GpuPlaces gpu_places_;
  uint64_t memory_events_ = 0;
  StepFinder finder_;
  Attribution attribution_;
  Windows windows_;

  std::vector<RangeEvent> ranges_;       // not yet given to the finder
  std::vector<uint64_t> next_call_;      // by ThreadIndex: the first call not yet given to the finder
  std::deque<StepInterval> open_steps_;  // found, not yet attributed
  LateSteps late_steps_;                 // attributed without all of their records
  bool late_record_came_ = false;        // since the last look at late_steps_
  uint64_t next_sync_ = 0;               // the first SyncContext not yet summed
  uint64_t step_index_ = 0;
  HostNs closed_until_ = INT64_MIN, closed_until_begin_ = INT64_MIN;
  HostNs advanced_to_ = INT64_MIN;
  HostNs drained_until_ = INT64_MIN;  // the last mark that a round of the process is complete
  uint64_t events_since_advance_ = 0, range_events_ = 0;
  uint64_t counted_events_ = 0, counted_clamped_ = 0, counted_dropped_ = 0, counted_orphans_ = 0;
  HealthEvent health_;
  int64_t gpu_clock_uncertainty_ns_ = -1;
  std::string device_name_, cupti_notice_;
  bool simulated_gpu_ = false;
  uint32_t level_ = 0;
  HostWakes::Member member_ = 0;
  HostNs dropped_until_ = INT64_MIN;
  HostNs needs_since_ = INT64_MIN;  // what happened before no step of this process will ask for
  // What the finder is to see next, a call or a range.
  struct Item {
    HostNs at;
    ThreadIndex thread;
    uint64_t number;
    const RangeEvent* range;
  };
  std::vector<Item> items_;  // scratch
  StepBudget budget_;        // scratch
  StepObserver observer_ = nullptr;
  void* observer_context_ = nullptr;
};

}  // namespace stallscope
