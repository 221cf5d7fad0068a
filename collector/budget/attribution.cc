#include "collector/budget/attribution.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "collector/budget/unknown_late.h"

namespace stallscope {
namespace {

CauseKey CauseOfOp(const GpuOp& op) {
  if (op.kind == wire::GpuOpKind::kKernel || op.kind == wire::GpuOpKind::kGraph) {
    return MakeCause(CauseKind::kKernel, op.graph, op.name);
  }
  return MakeCause(CauseKind::kCopy, op.graph, op.argument);
}

// The promise of the whole product. (abseil 20220623 has no public CHECK.)
void CheckSum(const StepInterval& step, const StepBudget& budget) {
  int64_t sum = 0;
  for (const int64_t ns : budget.lines) sum += ns;
  if (sum == step.end - step.begin) return;
  std::fprintf(stderr, "attribution: the lines of the step (%" PRId64 ", %" PRId64 "] sum to %" PRId64 " ns\n",
               step.begin, step.end, sum);
  std::abort();
}

}  // namespace

DeviceTimeline* Attribution::DeviceOf(const StepInterval& step) {
  // The device that delivers: the one that the token's copy came from, else the one that the delivering thread launches
  // to.
  if (const Launch* copy = timeline_.launches().Find(step.copy_correlation)) {
    if (copy->records > 0) return timeline_.Device(copy->device);
  }
  uint32_t device = 0;
  return timeline_.DeviceOfThread(step.thread, &device) ? timeline_.Device(device) : nullptr;
}

void Attribution::Attribute(const StepInterval& step, StepBudget* budget) {
  *budget = StepBudget{};
  busy_.clear();
  active_.clear();
  critical_threads_.clear();
  ChargeSheet sheet(budget);
  FindUnknownLate(&timeline_, step, &sheet.unknown_late());
  budget->late = !sheet.unknown_late().empty();

  DeviceTimeline* device = DeviceOf(step);
  const size_t op_count = device == nullptr ? 0 : device->size();
  if (step.begin < last_begin_) {
    for (const uint32_t id : timeline_.devices()) timeline_.Device(id)->Rewind();
  }
  last_begin_ = step.begin;
  size_t next = device == nullptr ? 0 : device->Seek(step.begin);
  bool forward_work_seen = false;
  HostNs now = step.begin;
  while (now < step.end) {
    for (; next < op_count && (*device)[next].begin <= now; ++next) {
      const GpuOp& op = (*device)[next];
      if (op.end <= now) continue;
      active_.push_back({op.end, op.line, CauseOfOp(op)});
      forward_work_seen = forward_work_seen || IsForwardWork(op);
    }
    HostNs until = step.end;
    const bool more = next < op_count && (*device)[next].begin < step.end;
    if (more) until = (*device)[next].begin;
    if (active_.empty()) {
      // After the last operation a token is on its way, whatever the thread does.
      const bool in_flight = forward_work_seen || !more;
      ChargeGap(step, now, until, more ? &(*device)[next] : nullptr, in_flight, &sheet, budget);
      now = until;
      continue;
    }
    const ActiveOp* charged = &active_[0];
    for (const ActiveOp& op : active_) {
      until = std::min(until, op.end);
      if (op.line < charged->line) charged = &op;
    }
    sheet.ChargeGpu(charged->line, now, until, charged->cause);
    if (busy_.empty() || busy_.back().end != now) {
      const int64_t before = busy_.empty() ? 0 : busy_.back().busy_before_ns + busy_.back().end - busy_.back().begin;
      busy_.push_back({now, until, before});
    } else {
      busy_.back().end = until;
    }
    now = until;
    active_.erase(std::remove_if(active_.begin(), active_.end(), [now](const ActiveOp& op) { return op.end <= now; }),
                  active_.end());
  }
  SumHidden(step, budget);

  CheckSum(step, *budget);
}

void Attribution::ChargeGap(const StepInterval& step, HostNs from, HostNs to, const GpuOp* ends_with, bool in_flight,
                            ChargeSheet* sheet, StepBudget* budget) {
  WalkBack::Request request;
  request.until = from;
  request.visible_until = step.end + options_.settle_ns;
  request.in_flight = in_flight;
  request.skew_margin_ns = options_.skew_margin_ns;
  request.shortest_idle_ns = shortest_idle_ns_;
  if (ends_with == nullptr) {
    request.thread = step.thread;
    request.from = to;
  } else {
    HostNs launch_end = ends_with->launch_end;
    request.thread = ends_with->launch_thread;
    if (ends_with->launch_begin == INT64_MIN) {  // the record came before the call
      const Launch* launch = timeline_.launches().Find(ends_with->correlation);
      if (launch == nullptr || launch->thread == 0) {
        ++budget->unmatched_ops;
        sheet->ChargeIdleGpu(Line::kUnknownLost, from, to, CauseOfOp(*ends_with));
        return;
      }
      launch_end = launch->end;
      request.thread = launch->thread;
    }
    const HostNs enqueued = std::clamp(launch_end, from, to);
    sheet->ChargeIdleGpu(Line::kGpuGap, enqueued, to, CauseOfOp(*ends_with));
    // The walk begins inside the launching call, which is charged like any call: host.launch, or what is nested in it.
    request.from = enqueued;
  }
  if (request.from > request.until) walk_.Run(request, sheet, budget, &critical_threads_);
}

int64_t Attribution::BusyWithin(HostNs from, HostNs to) const {
  if (to <= from || busy_.empty()) return 0;
  const auto busy_before = [this](HostNs at) {
    const auto after =
        std::upper_bound(busy_.begin(), busy_.end(), at, [](HostNs t, const BusySpan& span) { return t < span.begin; });
    if (after == busy_.begin()) return int64_t{0};
    const BusySpan& span = *std::prev(after);
    return span.busy_before_ns + std::min(at, span.end) - span.begin;
  };
  return busy_before(to) - busy_before(from);
}

void Attribution::SumHidden(const StepInterval& step, StepBudget* budget) {
  if (busy_.empty()) return;
  const HostNs visible_until = step.end + options_.settle_ns;
  for (ThreadIndex thread = 0; thread < timeline_.thread_end(); ++thread) {
    const ThreadTimeline* timeline = timeline_.Thread(thread);
    if (timeline == nullptr || timeline->calls().empty()) continue;
    const SequenceDeque<Call>& calls = timeline->calls();
    // Threads that neither call CUDA in this step nor are on its critical path have time of their own, which hides
    // behind nothing.
    bool counts = std::find(critical_threads_.begin(), critical_threads_.end(), thread) != critical_threads_.end();
    const uint64_t first = timeline->FirstEndingAtOrAfter(step.begin + 1);
    for (uint64_t i = first; !counts && i < calls.end() && calls[i].end <= visible_until && calls[i].begin < step.end;
         ++i) {
      counts = calls[i].source == CallSource::kCuda;
    }
    if (!counts) continue;
    for (uint64_t i = first; i < calls.end() && calls[i].end <= visible_until; ++i) {
      const Call& call = calls[i];
      if (call.begin >= step.end) continue;
      if (timeline->InsideBlockingCuda(i)) continue;
      Line line = LineOfCall(call);
      HostNs begin = std::max(call.begin, step.begin);
      const HostNs end = std::min(call.end, step.end);
      if (IsBlockingCuda(call)) {
        // While the awaited work runs the wait is what it is for; only its over-wait is hidden time.
        const AwaitedWork work = awaited_.Find(thread, call);
        if (OverWait(call, work, options_.skew_margin_ns) == 0) continue;
        begin = std::max(begin, work.end);
        line = Line::kHostSyncOverwait;
      }
      const int64_t busy = BusyWithin(begin, end);
      if (busy == 0) continue;
      budget->hidden[static_cast<size_t>(line)] += busy;
      uint64_t outer_number = i;
      const Call* outer = timeline->Outer(i, &outer_number);
      if (outer != nullptr && outer->end <= visible_until) {
        budget->hidden[static_cast<size_t>(LineOfCall(*outer))] -= busy;  // innermost wins
      }
    }
    HostNs told_until = step.begin;
    for (const CodeSpan& span : timeline_.code_spans().Of(thread)) {
      if (span.begin >= step.end) break;
      const HostNs begin = std::max(span.begin, told_until), end = std::min(span.end, step.end);
      const ThreadTimeline::Position position = timeline->Before(end, visible_until);
      const int64_t busy = BusyWithin(begin, end);
      if (busy == 0 || position.call == nullptr || position.segment_begin > begin || IsBlockingCuda(*position.call)) {
        continue;
      }
      told_until = end;
      budget->hidden[static_cast<size_t>(Line::kHostModuleLoad)] += busy;
      budget->hidden[static_cast<size_t>(LineOfCall(*position.call))] -= busy;
    }
  }
}

}  // namespace stallscope
