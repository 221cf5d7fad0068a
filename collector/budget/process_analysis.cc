#include "collector/budget/process_analysis.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/budget/agent_report.h"
#include "collector/budget/attribution.h"
#include "collector/budget/cpu_shortage.h"
#include "collector/budget/late_steps.h"
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
namespace {

// Threads hand in their events some tens of milliseconds late; until then the order between threads is not known.
constexpr int64_t kReorderNs = 200'000'000;
// How long after a step's end a call may end and still be seen by its attribution. Below kReorderNs, so that it has
// come.
constexpr int64_t kSettleNs = 50'000'000;
// A step that began longer ago than this (an idle server) is attributed from here on only.
constexpr int64_t kLongestStepNs = 30'000'000'000;
// A process whose rounds have ended with a mark (kStateDrained) is advanced to its marks, and without any for so long to
// what it has sent; one that never sent a mark to the time or, fed without Advance (a capture file), once so many events
// have come.
constexpr int64_t kLongestRoundNs = 2'000'000'000;
constexpr uint64_t kSelfAdvanceEvents = 8192;

// A step closed as late is corrected if its records come within so many late limits of its end.
constexpr int64_t kCorrectedWithinLimits = 3;

// A window that ends so long before now says so.
constexpr int64_t kLagWorthSayingNs = 1'000'000'000;

// How much a lost record takes from the confidence in the steps, as a multiple of its share of all records.
constexpr double kLossWeight = 4;

// A wait for outside input this short, or shorter than two usual steps, is no idle server.
constexpr int64_t kShortestIdleNs = 1'000'000;
constexpr uint64_t kStepsPerIdleUpdate = 64;

// State.What of the schema, which this library does not link.
enum StateWhat : uint32_t {
  kLevel = 1,
  kCuptiActive = 2,
  kCuptiTaken = 3,
  kCuptiMissing = 4,
  kCuptiReturned = 5,
  kSimulatedGpu = 7,
  kDetached = 8,
  kDisabled = 11,
  kMps = 13,
  kCpusAvailable = 20,
  kCpuThrottled = 21,
};

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
  void OnHealth(const HealthEvent& health) override { health_ = health; }
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

void Analysis::OnState(const StateEvent& state) {
  switch (state.what) {
    case kStateDrained:
      drained_until_ = std::max(drained_until_, state.at);
      break;
    case kLevel:
      level_ = static_cast<uint32_t>(state.value);
      break;
    case kSimulatedGpu:
      simulated_gpu_ = true;
      break;
    case kCuptiTaken:
      cupti_notice_ = absl::StrCat("CUPTI is held by ", state.text.empty() ? "another profiler" : state.text,
                                   ": GPU lines start again when it ends. ", kKnownWithoutCupti);
      break;
    case kCuptiMissing:
      cupti_notice_ = absl::StrCat("no GPU lines: CUPTI could not be used", state.text.empty() ? "" : ": ", state.text,
                                   ". ", kKnownWithoutCupti);
      break;
    case kCuptiActive:
    case kCuptiReturned:
      cupti_notice_.clear();
      break;
    case kMps:
      gpu_places_.OnMps(state.value, state.text);
      break;
    case kCpusAvailable:
      cpu_shortage_.OnCpusAvailable(state.value, state.text == "quota");
      break;
    case kCpuThrottled: {
      uint64_t times = 0;
      if (absl::SimpleAtoi(state.text, &times)) cpu_shortage_.OnThrottled(state.at, state.value, times);
      break;
    }
    case kDetached:
      cupti_notice_ = "the agent was detached from this process";
      break;
    case kDisabled:
      cupti_notice_ = absl::StrCat("the agent turned itself off", state.text.empty() ? "" : ": ", state.text);
      break;
    default:
      break;
  }
}

HostNs Analysis::WalkBackFrom(const ForeignWalk& walk, std::vector<ForeignCharge>* charges) {
  StepBudget unused;
  std::vector<ChargeSheet::Charge> own;
  ChargeSheet sheet(&unused, &own);
  WalkBack::Request request;
  request.thread = walk.thread;
  request.from = walk.from;
  request.until = walk.until;
  request.visible_until = walk.visible_until;
  request.in_flight = walk.in_flight;
  request.shortest_idle_ns = walk.shortest_idle_ns;
  request.skew_margin_ns = walk.skew_margin_ns;
  request.hops = walk.hops;
  request.for_another = true;
  // What was dropped, or was before there was an agent, is not known, however it looks.
  request.until = std::max({request.until, dropped_until_, process_.agent_start});
  if (request.from <= request.until) return walk.from;
  const HostNs known_since = attribution_.walk().Run(request, &sheet, &unused, nullptr);
  for (const ChargeSheet::Charge& charge : own) {
    std::string who;
    switch (KindOf(charge.cause)) {
      case CauseKind::kOsCall:
      case CauseKind::kCudaCall:
      case CauseKind::kThread:
      case CauseKind::kWaker:
      case CauseKind::kWithinClockError:
      case CauseKind::kCodeLoad: {
        const auto thread = static_cast<ThreadIndex>(LowOf(charge.cause));
        // A thread of a third process says where it belongs itself.
        who = names_.IsForeign(thread) ? TextOfThread(thread, &names_)
                                       : absl::StrCat(process_.process_name, "[", Pid(), "] ", ThreadName(thread));
        break;
      }
      default:
        who = absl::StrCat(process_.process_name, "[", Pid(), "]");
        break;
    }
    charges->push_back({charge.line, charge.from, charge.to, std::move(who)});
  }
  return known_since;
}

HostNs Analysis::WalkOn(uint32_t member, const ForeignWalk& walk, wire::OsCall waited_in,
                        std::vector<ChargeSheet::Charge>* charges) {
  HostWakes::Process* other = options_.host_wakes->Get(member);
  if (other == nullptr) return walk.from;
  std::vector<ForeignCharge> theirs;
  const HostNs known_since = other->WalkBackFrom(walk, &theirs);
  for (const ForeignCharge& charge : theirs) {
    charges->push_back({charge.line, charge.from, charge.to,
                        MakeCause(CauseKind::kWaker, static_cast<uint64_t>(waited_in), names_.OfForeign(charge.who))});
  }
  return known_since;
}

void Analysis::AdvanceTo(HostNs now, bool finishing) {
  if (now == INT64_MIN && ranges_.empty()) return;
  now = advanced_to_ = std::max(advanced_to_, now);
  events_since_advance_ = 0;
  timeline_.SettleDevices();
  timeline_.SettleCodeLoads();
  for (const TimeSpan& launch : timeline_.TakeLongFirstLaunches()) {
    code_loads_.OnLongFirstLaunch(launch.begin, launch.end);
  }
  FindSteps(finishing ? INT64_MAX : now - kReorderNs);
  if (finishing) {
    finder_.Finish();
  } else {
    finder_.OnHorizon(now - kReorderNs);
  }
  for (const StepInterval& step : finder_.TakeSteps()) open_steps_.push_back(step);
  CloseSteps(now, finishing);
  CorrectLateSteps(now);
  CloseSyncs(now, finishing);
  CountHealth(now);
  if (!finishing) DropOld(now);
}

void Analysis::FindSteps(HostNs until) {
  std::vector<Item>& items = items_;
  items.clear();
  next_call_.resize(timeline_.thread_end());
  for (ThreadIndex thread = 0; thread < timeline_.thread_end(); ++thread) {
    const ThreadTimeline* timeline = timeline_.Thread(thread);
    if (timeline == nullptr) continue;
    const SequenceDeque<Call>& calls = timeline->calls();
    uint64_t& next = next_call_[thread];
    next = std::max(next, calls.first());
    for (; next < calls.end() && calls[next].end <= until; ++next) {
      const Call& call = calls[next];
      if (call.source == CallSource::kCuda || PollPartners::IsWakeUpWrite(call) || PollPartners::IsPoll(call)) {
        items.push_back({call.end, thread, next, nullptr});
      }
    }
  }
  // Ranges of one thread come in order, but not between threads; the rest is for later.
  std::stable_sort(ranges_.begin(), ranges_.end(),
                   [](const RangeEvent& a, const RangeEvent& b) { return a.end < b.end; });
  const auto ranges_end =
      std::find_if(ranges_.begin(), ranges_.end(), [until](const RangeEvent& r) { return r.end > until; });
  for (auto range = ranges_.begin(); range != ranges_end; ++range)
    items.push_back({range->end, range->thread, 0, &*range});
  const auto earlier = [](const Item& a, const Item& b) { return a.at < b.at; };
  if (!std::is_sorted(items.begin(), items.end(), earlier)) std::stable_sort(items.begin(), items.end(), earlier);
  for (const Item& item : items) {
    if (item.range != nullptr) {
      finder_.OnRange(*item.range);
    } else {
      Call* call = &timeline_.MutableThread(item.thread).calls()[item.number];
      if (call->source == CallSource::kOs) {
        LearnWakers(item.thread, *call);
        continue;
      }
      if (call->copy_kind == wire::CopyKind::kDefault) {
        // cudaMemcpyDefault: the direction stands in the record only.
        const Launch* launch = timeline_.launches().Find(call->correlation);
        if (launch != nullptr && launch->records > 0) call->copy_kind = launch->copy_kind;
      }
      finder_.OnCall(item.thread, item.number, call);
    }
  }
  ranges_.erase(ranges_.begin(), ranges_end);
}

void Analysis::LearnWakers(ThreadIndex thread, const Call& call) {
  if (PollPartners::IsWakeUpWrite(call)) {
    const uint64_t set = poll_partners_.OnWrite(thread, call);
    if (set != 0) timeline_.AddInferredWake(set, call.begin, thread);
  } else if (timeline_.wakes().Find(call.object, call.begin, call.end, thread, 0, true) == nullptr) {
    poll_partners_.OnUnexplainedPoll(thread, call);
  }
}

void Analysis::GiveUpLaunches(HostNs at, HostNs* oldest_pending) {
  const uint64_t given_up = timeline_.GiveUpLaunchesBefore(at);
  AddAt(at, [given_up](WindowSums* sums) { sums->unmatched += given_up; });
  *oldest_pending = timeline_.OldestPendingLaunch();
}

void Analysis::CloseSteps(HostNs now, bool finishing) {
  HostNs oldest_pending = timeline_.OldestPendingLaunch();
  while (!open_steps_.empty()) {
    const StepInterval& step = open_steps_.front();
    if (oldest_pending < step.end) {
      if (!finishing && now < step.end + options_.late_limit_ns) break;
      GiveUpLaunches(step.end, &oldest_pending);
    }
    CloseStep(step);
    open_steps_.pop_front();
  }
}

void Analysis::CloseStep(const StepInterval& step) {
  if (step_index_ % kStepsPerIdleUpdate == 0) {
    attribution_.SetShortestIdle(std::max(kShortestIdleNs, 2 * windows_.total().itl.Quantile(0.5)));
  }
  std::vector<uint32_t> missing;
  const bool correctable = LateSteps::Missing(&timeline_, step, &missing);
  attribution_.Attribute(step, &budget_);
  if (budget_.late && correctable) late_steps_.Add({step, budget_, step_index_, std::move(missing)});
  const int64_t wall_ns = step.end - step.begin;
  const int64_t idle_ns = budget_.lines[static_cast<size_t>(Line::kIdleNoRequest)];
  AddAt(step.end, [&](WindowSums* sums) {
    if (sums->steps == 0) sums->first_begin = step.begin;
    sums->last_end = step.end;
    ++sums->steps;
    sums->tokens += step.tokens;
    sums->wall_ns += wall_ns;
    sums->late += budget_.late ? 1 : 0;
    sums->unmatched += budget_.unmatched_ops;
    for (size_t i = 0; i < kLineCount; ++i) {
      sums->lines[i] += budget_.lines[i];
      sums->hidden[i] += budget_.hidden[i];
      if (budget_.lines[i] != 0) sums->notes[i].Merge(budget_.notes[i]);
    }
    sums->itl.Add(wall_ns - idle_ns);
  });
  closed_until_begin_ = step.begin;
  closed_until_ = step.end;
  Tell(step, step_index_++);
}

void Analysis::Tell(const StepInterval& step, uint64_t index) {
  if (observer_ == nullptr) return;
  const StepRecord record{index, step.begin, step.end, step.tokens, budget_.lines, budget_.hidden, budget_.late};
  observer_(observer_context_, record);
}

// Length and tokens of the step stay; its lines are told anew.
void Analysis::CorrectLateSteps(HostNs now) {
  if (late_steps_.empty()) return;
  late_steps_.ForgetBefore(now - kCorrectedWithinLimits * options_.late_limit_ns);
  if (!std::exchange(late_record_came_, false)) return;
  LateStep late;
  while (late_steps_.TakeComplete(timeline_, &late)) {
    attribution_.Attribute(late.step, &budget_);
    const StepBudget& told = late.budget;
    AddAt(late.step.end, [&](WindowSums* sums) {
      if (sums->steps == 0) return;  // the bucket was used again
      sums->late -= budget_.late ? 0 : 1;
      sums->unmatched += budget_.unmatched_ops - told.unmatched_ops;
      for (size_t i = 0; i < kLineCount; ++i) {
        sums->lines[i] += budget_.lines[i] - told.lines[i];
        sums->hidden[i] += budget_.hidden[i] - told.hidden[i];
        sums->notes[i].Remove(told.notes[i]);
        if (budget_.lines[i] != 0) sums->notes[i].Merge(budget_.notes[i]);
      }
    });
    Tell(late.step, late.index);
  }
}

void Analysis::CloseSyncs(HostNs now, bool finishing) {
  SequenceDeque<SyncContext>& contexts = finder_.contexts();
  HostNs oldest_pending = timeline_.OldestPendingLaunch();
  next_sync_ = std::max(next_sync_, contexts.first());
  for (; next_sync_ < contexts.end(); ++next_sync_) {
    const SyncContext& context = contexts[next_sync_];
    if (oldest_pending < context.end) {
      if (!finishing && now < context.end + options_.late_limit_ns) break;
      GiveUpLaunches(context.end, &oldest_pending);
    }
    const ThreadTimeline* thread = timeline_.Thread(context.thread);
    if (thread == nullptr || !thread->calls().Contains(context.call_number)) continue;
    const Call& call = thread->calls()[context.call_number];
    if (!IsBlockingCuda(call)) continue;  // a long copy call that turned out to be asynchronous
    const AwaitedWork work = attribution_.awaited().Find(context.thread, call);
    AddAt(call.end, [&](WindowSums* sums) {
      SyncSums& sync = sums->Sync(static_cast<uint32_t>(call.domain) << 16 | call.call);
      ++sync.calls;
      sync.total_ns += call.end - call.begin;
      if (!work.known) return;
      const int64_t over_wait_ns = OverWait(call, work, options_.skew_margin_ns);
      sync.over_wait_ns += over_wait_ns;
      if (over_wait_ns == 0) sync.within_clock_error_ns += OverWait(call, work, 0);
      sync.idle_inside_ns += call.end - call.begin - work.busy_inside_ns;
      sync.unneeded_ns += work.unneeded_ns;
    });
  }
}

void Analysis::CountHealth(HostNs now) {
  const TimelineCounts& counts = timeline_.counts();
  uint64_t reported_lost = health_.ring_lost;
  for (const wire::Counter counter :
       {wire::Counter::kSlotsExhausted, wire::Counter::kCuptiDropped, wire::Counter::kFramesDropped}) {
    reported_lost += health_.counters[static_cast<size_t>(counter)];
  }
  uint64_t clamped = counts.clamped;
  for (const wire::Counter counter :
       {wire::Counter::kGpuZeroTime, wire::Counter::kGpuReversedTime, wire::Counter::kGpuBeforeLaunch,
        wire::Counter::kGpuUnfinished, wire::Counter::kGpuOtherClock}) {
    clamped += health_.counters[static_cast<size_t>(counter)];
  }
  const uint64_t events = counts.events + range_events_ + memory_events_;
  // The same loss may be told twice: as a gap in a thread's numbers and by the agent's own count.
  const uint64_t dropped = std::max(counts.lost_records, reported_lost);
  AddAt(now, [&](WindowSums* sums) {
    sums->events += events - counted_events_;
    sums->clamped += clamped - std::min(clamped, counted_clamped_);
    sums->dropped += dropped - std::min(dropped, counted_dropped_);
    sums->unmatched += counts.orphans - counted_orphans_;
  });
  counted_events_ = events;
  counted_clamped_ = std::max(clamped, counted_clamped_);
  counted_dropped_ = std::max(dropped, counted_dropped_);
  counted_orphans_ = counts.orphans;
}

void Analysis::DropOld(HostNs now) {
  const HostNs longest = now - kLongestStepNs;
  finder_.ForgetBefore(longest);
  // A launch given up on may still get its records; everything else behind the open steps has been told.
  const bool records_missing = !timeline_.missing().empty();
  HostNs keep_from = now - kReorderNs - (records_missing ? options_.late_limit_ns : kReorderNs);
  if (finder_.open_since() != INT64_MIN) keep_from = std::min(keep_from, finder_.open_since());
  if (!open_steps_.empty()) keep_from = std::min(keep_from, open_steps_.front().begin);
  keep_from = std::min(keep_from, late_steps_.kept_from());
  SequenceDeque<SyncContext>& contexts = finder_.contexts();
  if (next_sync_ < contexts.end()) keep_from = std::min(keep_from, contexts[next_sync_].begin);
  keep_from = std::max(keep_from, longest - kReorderNs);
  needs_since_ = keep_from;
  if (options_.host_wakes != nullptr) {
    // Processes that this one woke may walk back into it.
    keep_from = std::max(std::min(keep_from, options_.host_wakes->NeededSince(member_)), longest - kReorderNs);
  }
  timeline_.DropBefore(keep_from);
  dropped_until_ = std::max(dropped_until_, keep_from);
  while (!contexts.empty() && contexts.first() < next_sync_ && contexts.front().end < keep_from) contexts.PopFront();
}

ProcessReport Analysis::Report(int64_t window_ns, HostNs now) const {
  ProcessReport report;
  // While steps wait for their records the latest window is the one before them, not an empty one.
  HostNs window_end = now;
  if (!open_steps_.empty() && closed_until_ != INT64_MIN) {
    window_end = std::clamp(closed_until_, now - options_.late_limit_ns - 2 * kReorderNs, now);
  }
  const WindowSums sums = windows_.Sum(window_ns, window_end);
  report.pid = process_.identity.pid;
  report.process_name = process_.process_name;
  report.simulated_gpu = simulated_gpu_;
  report.gpu = !device_name_.empty() ? device_name_ : simulated_gpu_ ? "simulated GPU" : "";
  report.steps = sums.steps;
  report.tokens = sums.tokens;
  StepFinder::Verdict verdict = finder_.Describe();
  report.tokens_source = std::move(verdict.tokens_source);
  report.segmentation_method = std::move(verdict.method);
  report.segmentation_confidence = verdict.confidence;
  report.segmentation_why = std::move(verdict.why);
  if (sums.dropped > 0 && verdict.confidence > 0) {
    // A lost read-back or wait costs a step; each step needs several records, so its share of lost steps is a multiple.
    const double lost = static_cast<double>(sums.dropped) / static_cast<double>(sums.dropped + sums.events);
    report.segmentation_confidence *= std::max(0.0, 1 - kLossWeight * lost);
    absl::StrAppend(&report.segmentation_why, "; less for ", sums.dropped, " lost records");
  }
  report.begin = sums.first_begin;
  report.end = sums.last_end;
  report.wall_ns = sums.wall_ns;
  LineSums lines = sums.lines;
  const std::string graph_split = graph_mix_.Split(timeline_.latest(), &lines);
  for (size_t i = 0; i < kLineCount; ++i) {
    report.lines[i].ns = lines[i];
    report.lines[i].hidden_ns = sums.hidden[i];
    const Cause& cause = sums.notes[i].Largest();
    if (cause.key != 0 && cause.ns * 2 >= sums.lines[i]) report.lines[i].note = TextOfCause(cause, &names_);
  }
  report.itl_p50_ns = sums.itl.Quantile(0.50);
  report.itl_p90_ns = sums.itl.Quantile(0.90);
  report.itl_p99_ns = sums.itl.Quantile(0.99);
  report.itl_max_ns = sums.itl.max();
  for (const SyncSums& sync : sums.syncs) {
    const std::string_view name = names_.CallName(static_cast<wire::CudaDomain>(sync.name_key >> 16),
                                                  static_cast<uint16_t>(sync.name_key & 0xffff));
    report.syncs.push_back({std::string(WithoutVersion(name)), sync.calls, sync.total_ns, sync.over_wait_ns,
                            sync.idle_inside_ns, sync.unneeded_ns, sync.within_clock_error_ns});
  }
  std::stable_sort(report.syncs.begin(), report.syncs.end(),
                   [](const SyncReport& a, const SyncReport& b) { return a.total_ns > b.total_ns; });
  report.health = {sums.events, sums.dropped, sums.late, sums.clamped, sums.unmatched};
  const OwnCauses causes = {timeline_.counts().NeverDelivered(), graph_mix_.reused_ids()};
  ReportAgent({level_, gpu_clock_uncertainty_ns_, &health_, causes}, &report);
  report.batch = MeansOf(batch_source_, sums.batch);
  report.memory = memory_.Report(window_ns, now, names_);
  report.code_loads = code_loads_.Report(window_ns, now);
  report.contexts = gpu_places_.Contexts();
  report.names = gpu_places_.Names();
  for (std::string& line : gpu_places_.Notices()) report.notices.push_back(std::move(line));
  if (!graph_split.empty()) report.notices.push_back(graph_split);
  if (!cupti_notice_.empty()) report.notices.push_back(cupti_notice_);
  for (std::string& line : cpu_shortage_.Lines(window_ns, now)) report.notices.push_back(std::move(line));
  if (window_ns > 0 && now - window_end >= kLagWorthSayingNs) {
    report.notices.push_back(absl::StrCat("the steps of the last ", (now - window_end + 50'000'000) / 100'000'000 * 100,
                                          " ms wait for GPU records: the window ends before them"));
  }
  return report;
}

}  // namespace

std::unique_ptr<ProcessAnalysis> ProcessAnalysis::Create(const ProcessInfo& process, const ProcessNames* names,
                                                         const AnalysisOptions& options) {
  return std::make_unique<Analysis>(process, names, options);
}

}  // namespace stallscope
