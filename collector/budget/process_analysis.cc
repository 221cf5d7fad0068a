#include "collector/budget/process_analysis.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/budget/agent_report.h"
#include "collector/budget/analysis.h"

namespace stallscope {
namespace {

// A step that began longer ago than this (an idle server) is attributed from here on only.
constexpr int64_t kLongestStepNs = 30'000'000'000;

// A step closed as late is corrected if its records come within so many late limits of its end.
constexpr int64_t kCorrectedWithinLimits = 3;

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

}  // namespace

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

std::unique_ptr<ProcessAnalysis> ProcessAnalysis::Create(const ProcessInfo& process, const ProcessNames* names,
                                                         const AnalysisOptions& options) {
  return std::make_unique<Analysis>(process, names, options);
}

}  // namespace stallscope
