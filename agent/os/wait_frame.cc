#include "agent/os/wait_frame.h"

#include "agent/attach/call_slots.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

// The first hook in a child notes the time; one that comes this much later knows that the child has not gone on to
// exec.
constexpr uint64_t kStaysNs = 1'000'000;
constinit std::atomic<uint32_t> g_child_pid{0};
constinit std::atomic<uint64_t> g_child_first_ns{0};
constinit std::atomic<uint64_t> g_child_waits{0};  // that nobody recorded

}  // namespace

__attribute__((noinline, cold)) bool AdoptChild() noexcept {
  if (!IsUnbornChild() || t_local.inside != 0 || g_confined.load(std::memory_order_relaxed)) return false;
  const auto pid = static_cast<uint32_t>(RawSyscall(SYS_getpid));
  // Another pid than at first: a child of this child, or a vfork child that borrows the memory. Either starts over.
  if (g_child_pid.load(std::memory_order_relaxed) != pid) {
    g_child_pid.store(pid, std::memory_order_relaxed);
    g_child_first_ns.store(MonotonicNs(), std::memory_order_relaxed);
    g_child_waits.store(1, std::memory_order_relaxed);
    return false;
  }
  if (MonotonicNs() - g_child_first_ns.load(std::memory_order_relaxed) < kStaysNs) {
    g_child_waits.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  EnsureSetUp();
  if (!ProcessRecords()) return false;
  Count(wire::Counter::kChildWaits, g_child_waits.exchange(0, std::memory_order_relaxed));
  return true;
}

__attribute__((noinline, cold)) void RefreshQuietClock() noexcept {
  if (g_header->heartbeat_ns.load(std::memory_order_relaxed) != 0) return;
  RefreshClock(g_header);
  if (WasAttached()) WatchModules(MonotonicNs());  // nobody else does where there is no streaming thread
}

__attribute__((noinline)) void StartWakeSlow(WakeFrame* frame, uint64_t object) noexcept {
  if (!ProcessRecords()) return;
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  *frame = {thread, FastTicks(), object};
}

__attribute__((noinline)) void FinishWakeSlow(const WakeFrame& frame, wire::OsCall call, uint64_t detail) noexcept {
  if (frame.thread != CurrentThread()) return;
  CommitTo(frame.thread, {.begin = frame.begin_ticks,
                          .object = frame.object,
                          .detail = detail,
                          .kind = wire::RecordKind::kWake,
                          .call = static_cast<uint16_t>(call)});
}

uint64_t DeadlineNs(const WaitFrame& frame, clockid_t clock, const timespec* deadline) noexcept {
  if (frame.thread == nullptr || deadline == nullptr) return wire::kNoTimeout;
  int64_t deadline_ns = int64_t{deadline->tv_sec} * 1'000'000'000 + deadline->tv_nsec;
  if (clock == CLOCK_REALTIME) deadline_ns -= g_realtime_offset_ns.load(std::memory_order_relaxed);
  const int64_t left_ns = deadline_ns - static_cast<int64_t>(TicksToNs(g_header, frame.begin_ticks));
  return left_ns > 0 ? static_cast<uint64_t>(left_ns) : 0;
}

}  // namespace stallscope::agent
