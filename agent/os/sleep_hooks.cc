// Sleeping on purpose, and yielding. A storm of sched_yield calls becomes one record with a count: a thread that spins
// so makes millions of calls a second.
#include <errno.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

// In ticks, at 1 to 5 GHz: two yields further apart than about 20 us are two storms; an open storm is written out every
// 1 ms or so, so that a long one is seen while it lasts.
constexpr uint64_t kYieldGapTicks = 60'000, kLongestStormTicks = 3'000'000;

void NoteYield(uint64_t begin_ticks, uint64_t end_ticks) noexcept {
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return;
  if (thread->yield_count != 0 &&
      (begin_ticks - thread->yield_end > kYieldGapTicks || begin_ticks - thread->yield_begin > kLongestStormTicks)) {
    CloseYieldStorm(thread);
  }
  if (thread->yield_count == 0) thread->yield_begin = begin_ticks;
  thread->yield_end = end_ticks;
  ++thread->yield_count;
}

}  // namespace

void CloseYieldStorm(ThreadState* thread) noexcept {
  const uint32_t count = thread->yield_count;
  const uint64_t duration_ticks = thread->yield_end - thread->yield_begin;
  thread->yield_count = 0;
  const uint64_t threshold_ticks = (g_header->wait_threshold_ns.load(std::memory_order_relaxed) *
                                    g_ticks_per_ns_q20.load(std::memory_order_relaxed)) >>
                                   20;
  if (duration_ticks < threshold_ticks) return CountShortWaitOf(thread);
  CommitTo(thread, {.begin = thread->yield_begin,
                    .duration = duration_ticks,
                    .argument = wire::kNoTimeout,
                    .detail = count,
                    .kind = wire::RecordKind::kWait,
                    .call = static_cast<uint16_t>(wire::OsCall::kSchedYield)});
}

STALLSCOPE_EXPORT(int, nanosleep, (const timespec* duration, timespec* left)) {
  auto* real = STALLSCOPE_REAL(nanosleep);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kNanosleep, 0);
  const int result = real(duration, left);
  FinishWait(&frame,
             {.result = result < 0 ? -errno : 0, .timeout_ns = result == 0 ? DurationNs(duration) : wire::kNoTimeout});
  return result;
}

STALLSCOPE_EXPORT(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left)) {
  auto* real = STALLSCOPE_REAL(clock_nanosleep);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kClockNanosleep, 0);
  const int result = real(clock, flags, time, left);
  uint64_t timeout_ns = wire::kNoTimeout;
  if (result == 0) timeout_ns = (flags & TIMER_ABSTIME) != 0 ? DeadlineNs(frame, clock, time) : DurationNs(time);
  FinishWait(&frame, {.result = -result, .timeout_ns = timeout_ns});
  return result;
}

STALLSCOPE_EXPORT(int, usleep, (useconds_t microseconds)) {
  auto* real = STALLSCOPE_REAL(usleep);
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kUsleep, 0);
  const int result = real(microseconds);
  FinishWait(&frame, {.result = result < 0 ? -errno : 0, .timeout_ns = uint64_t{microseconds} * 1000u});
  return result;
}

namespace {

int Yield() noexcept {
  auto* real = STALLSCOPE_REAL(sched_yield);
  if (__builtin_expect(!ProcessRecords(), 0) && !AdoptChild()) return real();
  const uint64_t begin_ticks = FastTicks();
  const int result = real();
  NoteYield(begin_ticks, FastTicks());
  return result;
}

}  // namespace

STALLSCOPE_EXPORT(int, sched_yield, ()) { return Yield(); }

// Of programs linked before glibc 2.34; the same function there.
STALLSCOPE_EXPORT(int, pthread_yield, ()) { return Yield(); }

}  // namespace stallscope::agent
