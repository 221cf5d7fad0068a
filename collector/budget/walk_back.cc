#include "collector/budget/walk_back.h"

#include <algorithm>
#include <cerrno>

namespace stallscope {
namespace {

constexpr int kMaxHops = 64;
// Between two polls of an event the thread spins; a longer pause is ordinary code.
constexpr int64_t kSpinPauseNs = 50'000;

bool TimedOut(const Call& call) {
  if (WaitKindOf(call) == wire::WaitKind::kPoll) return call.result == 0;
  return call.result == ETIMEDOUT || call.result == -ETIMEDOUT;
}

bool CanBeWoken(const Call& call) {
  using wire::WaitKind;
  switch (WaitKindOf(call)) {
    case WaitKind::kLock:
    case WaitKind::kGil:
    case WaitKind::kCondition:
    case WaitKind::kSemaphore:
    case WaitKind::kBarrier:
    case WaitKind::kJoin:
    case WaitKind::kFutex:
    case WaitKind::kPoll:
      return call.object != 0 && !TimedOut(call);
    case WaitKind::kIpc:
      return call.object != 0 && !TimedOut(call) && !IsOnDiskFile(call) &&
             !IsTransmit(static_cast<wire::OsCall>(call.call));
    default:
      return false;
  }
}

bool IsSpin(const Call& call) { return IsQuery(call) || WaitKindOf(call) == wire::WaitKind::kSpin; }

}  // namespace

bool IsOutsideInput(const Call& call) {
  if (WaitKindOf(call) == wire::WaitKind::kPoll) return true;
  if (WaitKindOf(call) != wire::WaitKind::kIpc || IsOnDiskFile(call)) return false;
  switch (static_cast<wire::OsCall>(call.call)) {
    case wire::OsCall::kRead:
    case wire::OsCall::kReadv:
    case wire::OsCall::kRecv:
    case wire::OsCall::kRecvfrom:
    case wire::OsCall::kRecvmsg:
    case wire::OsCall::kAccept:
    case wire::OsCall::kEventfdRead:
      return true;
    default:
      return false;
  }
}

Line LineOfCall(const Call& call) {
  using wire::CudaCallClass;
  using wire::WaitKind;
  if (call.source == CallSource::kOs) {
    switch (WaitKindOf(call)) {
      case WaitKind::kLock:
        return Line::kHostLock;
      case WaitKind::kCondition:
      case WaitKind::kSemaphore:
      case WaitKind::kBarrier:
      case WaitKind::kJoin:
      case WaitKind::kFutex:
        return Line::kHostWaitThread;
      case WaitKind::kPoll:
      case WaitKind::kIpc:
        return IsOnDiskFile(call) ? Line::kHostIo : Line::kHostIpc;
      case WaitKind::kFile:
        return Line::kHostIo;
      case WaitKind::kSleep:
        return Line::kHostSleep;
      case WaitKind::kSpin:
        return Line::kHostSpin;
      case WaitKind::kGil:
        return Line::kHostGil;
      case WaitKind::kSystem:
      case WaitKind::kNone:
        return Line::kHostCpu;
    }
    return Line::kHostCpu;
  }
  if (HasFlag(call, wire::kCudaFlagCapturing)) return Line::kHostGraphBuild;
  if (IsBlockingCopy(call)) return Line::kHostCopyApi;
  switch (call.call_class) {
    case CudaCallClass::kLaunch:
    case CudaCallClass::kGraphLaunch:
    case CudaCallClass::kCopyAsync:
    case CudaCallClass::kMemset:
    case CudaCallClass::kEventRecord:
    case CudaCallClass::kStreamWaitEvent:
    case CudaCallClass::kHostFunc:
      return Line::kHostLaunch;
    case CudaCallClass::kCopySync:
      return Line::kHostCopyApi;
    case CudaCallClass::kSyncDevice:
    case CudaCallClass::kSyncStream:
    case CudaCallClass::kSyncEvent:
      return Line::kHostSyncOverwait;
    case CudaCallClass::kQueryEvent:
    case CudaCallClass::kQueryStream:
      return Line::kHostSpin;
    case CudaCallClass::kAlloc:
    case CudaCallClass::kFree:
    case CudaCallClass::kHostAlloc:
    case CudaCallClass::kHostRegister:
      return Line::kHostAlloc;
    case CudaCallClass::kGraphBuild:
      return Line::kHostGraphBuild;
    case CudaCallClass::kModuleLoad:
      return Line::kHostModuleLoad;
    case CudaCallClass::kOther:
      return Line::kHostCpu;
  }
  return Line::kHostCpu;
}

CauseKey CauseOfCall(const Call& call, ThreadIndex thread) {
  if (call.source == CallSource::kOs) return MakeCause(CauseKind::kOsCall, call.call, thread);
  return MakeCause(CauseKind::kCudaCall, static_cast<uint64_t>(call.domain) << 16 | call.call, thread);
}

void WalkBack::ChargeUnlessLoading(ThreadIndex thread, Line line, HostNs from, HostNs to, CauseKey cause,
                                   ChargeSheet* sheet) const {
  for (const CodeSpan& span : timeline_.code_spans().Of(thread)) {
    if (span.begin >= to) break;
    const HostNs begin = std::max(from, span.begin), end = std::min(to, span.end);
    if (end <= begin) continue;
    sheet->ChargeIdleGpu(line, from, begin, cause);
    sheet->ChargeIdleGpu(Line::kHostModuleLoad, begin, end,
                         MakeCause(CauseKind::kCodeLoad, static_cast<uint64_t>(span.kind), thread));
    from = end;
  }
  sheet->ChargeIdleGpu(line, from, to, cause);
}

void WalkBack::ChargeOwnCode(const Request& request, ThreadIndex thread, const ThreadTimeline& timeline,
                             const ThreadTimeline::Position& position, HostNs from, HostNs to, CauseKey reason,
                             ChargeSheet* sheet) const {
  if (position.before != nullptr && position.after != nullptr && IsSpin(*position.before) && IsSpin(*position.after) &&
      position.after->begin - position.before->end <= kSpinPauseNs) {
    sheet->ChargeIdleGpu(Line::kHostSpin, from, to, CauseOfCall(*position.before, thread));
    return;
  }
  // Where the thread's records were lost it may have been in any call.
  for (const TimeSpan& loss : timeline.losses()) {
    const HostNs lost_begin = std::max(from, loss.begin), lost_end = std::min(to, loss.end);
    if (lost_end <= lost_begin) continue;
    if (lost_begin > from) {
      ChargeOwnCode(request, thread, timeline, ThreadTimeline::Position{}, from, lost_begin, reason, sheet);
    }
    sheet->ChargeIdleGpu(Line::kUnknownLost, lost_begin, lost_end, MakeCause(CauseKind::kThread, 0, thread));
    if (to > lost_end) {
      ChargeOwnCode(request, thread, timeline, ThreadTimeline::Position{}, lost_end, to, reason, sheet);
    }
    return;
  }
  const RunShare share = timeline.ShareWhile(from, to, request.visible_until);
  int64_t off_cpu_ns = 0;
  if (share.run_delay_ns > 0) {
    off_cpu_ns = static_cast<int64_t>(static_cast<__int128>(to - from) * share.run_delay_ns /
                                      (static_cast<__int128>(share.run_delay_ns) + share.on_cpu_ns));
  }
  // The samples tell how much, not when: the run delay is put at the end of the stretch.
  ChargeUnlessLoading(thread, Line::kHostCpu, from, to - off_cpu_ns, reason, sheet);
  sheet->ChargeIdleGpu(Line::kHostOffcpu, to - off_cpu_ns, to, MakeCause(CauseKind::kThread, 0, thread));
}

void WalkBack::ChargeBlockingCuda(const Request& request, ThreadIndex thread, const Call& call, HostNs from, HostNs to,
                                  ChargeSheet* sheet) const {
  const AwaitedWork work = awaited_.Find(thread, call);
  const CauseKey cause = CauseOfCall(call, thread);
  if (!work.known) {
    sheet->ChargeIdleGpu(Line::kUnknownLost, from, to, cause);
    return;
  }
  const HostNs ended = work.running ? call.end : std::max(call.begin, work.end);
  const HostNs split = std::clamp(ended, from, to);
  if (OverWait(call, work, request.skew_margin_ns) > 0) {
    sheet->ChargeIdleGpu(Line::kHostSyncOverwait, split, to, cause);
  } else {
    // Too short for the clocks to tell: the way from the GPU's interrupt back to the thread.
    sheet->ChargeIdleGpu(Line::kHostWakeup, split, to, MakeCause(CauseKind::kWithinClockError, 0, thread));
  }
  if (IsBlockingCopy(call)) {
    // Before its own work began the call prepared it (pinning, staging).
    sheet->ChargeIdleGpu(Line::kHostCopyApi, from, split, cause);
  } else {
    sheet->ChargeIdleGpu(work.last_line, from, split, cause);  // this device was idle, the awaited one worked
  }
}

// The wait was ended by another process, which is asked what it did before. Returns how far back it knew; woken_at: nothing.
HostNs WalkBack::WalkOnElsewhere(const Request& request, const WakeIndex::Wake& wake, const Call& call,
                                 ThreadIndex thread, HostNs woken_at, HostNs cursor, int hops,
                                 ChargeSheet* sheet) const {
  if (others_ == nullptr || hops >= kMaxHops || woken_at <= request.until) return woken_at;
  const ForeignWalk walk{wake.there,
                         woken_at,
                         request.until,
                         request.visible_until,
                         request.in_flight,
                         request.shortest_idle_ns,
                         request.skew_margin_ns,
                         hops + 1};
  std::vector<ChargeSheet::Charge> charges;
  const HostNs known_since = others_->WalkOn(wake.member, walk, static_cast<wire::OsCall>(call.call), &charges);
  if (known_since >= woken_at) return woken_at;
  sheet->ChargeIdleGpu(Line::kHostWakeup, woken_at, cursor, CauseOfCall(call, thread));
  for (const ChargeSheet::Charge& charge : charges) {
    sheet->ChargeIdleGpu(charge.line, charge.from, charge.to, charge.cause);
  }
  return known_since;
}

HostNs WalkBack::Run(const Request& request, ChargeSheet* sheet, StepBudget* budget,
                     std::vector<ThreadIndex>* critical) const {
  struct Visit {
    ThreadIndex thread;
    HostNs at;
  };
  Visit visited[kMaxHops + 1];
  int hops = request.hops;
  const int first_hop = hops;
  ThreadIndex thread = request.thread;
  HostNs cursor = request.from;
  const HostNs until = request.until;
  CauseKey reason = MakeCause(CauseKind::kThread, 0, thread);
  visited[hops] = {thread, cursor};
  if (critical != nullptr) critical->push_back(thread);

  while (cursor > until) {
    const ThreadTimeline* timeline = timeline_.Thread(thread);
    if (timeline == nullptr || cursor <= timeline->kept_since()) {
      if (request.for_another) return cursor;
      sheet->ChargeIdleGpu(Line::kUnknownLost, until, cursor, MakeCause(CauseKind::kThread, 0, thread));
      return until;
    }
    const ThreadTimeline::Position position = timeline->Before(cursor, request.visible_until);
    HostNs segment_begin = std::max(position.segment_begin, until);
    if (position.call == nullptr) {
      segment_begin = std::max(segment_begin, timeline->kept_since());
      ChargeOwnCode(request, thread, *timeline, position, segment_begin, cursor, reason, sheet);
      cursor = segment_begin;
      continue;
    }
    const Call& call = *position.call;
    if (IsBlockingCuda(call)) {
      ChargeBlockingCuda(request, thread, call, segment_begin, cursor, sheet);
      cursor = segment_begin;
      continue;
    }
    if (call.source == CallSource::kOs && WaitKindOf(call) != wire::WaitKind::kNone && call.end > cursor) {
      // It woke somebody from within (a condition wait gives up its mutex first): it had not begun to wait.
      sheet->ChargeIdleGpu(Line::kHostCpu, segment_begin, cursor, reason);
      cursor = segment_begin;
      continue;
    }
    const WakeIndex::Wake* wake = nullptr;
    if (CanBeWoken(call)) {
      wake = timeline_.wakes().Find(call.object, call.begin, call.end, thread, timeline_.TidOf(thread),
                                    WaitKindOf(call) == wire::WaitKind::kPoll);
    }
    // Nobody calls anything to end a join: the joined thread ran until then.
    WakeIndex::Wake joined{call.end, 0, 0, wire::OsCall::kPthreadJoin};
    if (wake == nullptr && WaitKindOf(call) == wire::WaitKind::kJoin && call.correlation != 0 && call.result == 0) {
      joined.thread = timeline_.ThreadOfTid(call.correlation);
      if (joined.thread != 0) wake = &joined;
    }
    if (call.source == CallSource::kCuda) {
      ChargeUnlessLoading(thread, LineOfCall(call), segment_begin, cursor, CauseOfCall(call, thread), sheet);
      cursor = segment_begin;
      continue;
    }
    if (wake != nullptr && wake->foreign && WaitKindOf(call) != wire::WaitKind::kGil) {
      const HostNs woken_at = std::clamp(wake->at, segment_begin, cursor);
      const HostNs known_since = WalkOnElsewhere(request, *wake, call, thread, woken_at, cursor, hops, sheet);
      if (known_since < woken_at) {
        // What the other process cannot tell is this wait again, or what this thread did before it.
        sheet->ChargeIdleGpu(LineOfCall(call), std::max(segment_begin, until), known_since,
                             MakeCause(CauseKind::kWaker, call.call, wake->thread));
        cursor = std::min(segment_begin, known_since);
        continue;
      }
    }
    // Another process woke it, and cannot tell what it did: who is known. The interpreter lock: its holder
    // ran its own code, but this thread had to stand still for it, which is what the line says.
    const bool stays = wake == nullptr || wake->foreign || WaitKindOf(call) == wire::WaitKind::kGil;
    if (stays) {
      const bool idle =
          IsOutsideInput(call) && !request.in_flight && cursor - segment_begin >= request.shortest_idle_ns;
      const HostNs woken_at = wake == nullptr ? cursor : std::clamp(wake->at, segment_begin, cursor);
      sheet->ChargeIdleGpu(Line::kHostWakeup, woken_at, cursor, CauseOfCall(call, thread));
      sheet->ChargeIdleGpu(
          idle ? Line::kIdleNoRequest : LineOfCall(call), segment_begin, woken_at,
          wake == nullptr ? CauseOfCall(call, thread) : MakeCause(CauseKind::kWaker, call.call, wake->thread));
      cursor = segment_begin;
      continue;
    }
    const HostNs woken_at = std::min(wake->at, cursor);
    sheet->ChargeIdleGpu(Line::kHostWakeup, std::max(woken_at, until), cursor, CauseOfCall(call, thread));
    if (woken_at <= until) return until;
    cursor = woken_at;
    thread = wake->thread;
    reason = MakeCause(CauseKind::kWaker, call.call, thread);
    if (critical != nullptr) critical->push_back(thread);
    const bool repeated = std::any_of(visited + first_hop, visited + hops + 1,
                                      [&](const Visit& visit) { return visit.thread == thread && visit.at == cursor; });
    if (repeated || hops == kMaxHops) {
      ++budget->exhausted_walks;
      sheet->ChargeIdleGpu(Line::kUnknownLost, until, cursor, MakeCause(CauseKind::kThread, 0, thread));
      return until;
    }
    visited[++hops] = {thread, cursor};
  }
  return until;
}

}  // namespace stallscope
