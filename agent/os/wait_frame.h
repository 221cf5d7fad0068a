// Timing one call that may block: what every hook of this folder does around the real call.
//
//   WaitFrame frame;
//   StartWait(&frame, wire::OsCall::kSemWait, object);
//   const int result = real(...);            // may be cancelled, may longjmp: nothing here needs to run then
//   FinishWait(&frame, {...});
//
// Program threads, any context including signal handlers. errno is kept. When nothing is recorded (off, forked child,
// the agent's own thread) both are cheap and do nothing.
#pragma once

#include <errno.h>
#include <time.h>

#include "agent/entry/process_memory.h"
#include "agent/hot/clock.h"
#include "agent/hot/current_wait.h"
#include "agent/hot/process_state.h"
#include "agent/hot/ring_writer.h"
#include "agent/hot/waiters.h"
#include "agent/stacks/stacks.h"
#include "proto/wire/calls.h"

namespace stallscope::agent {

struct WaitFrame {
  ThreadState* thread = nullptr;  // null: not recorded
  uint64_t begin_ticks = 0, object = 0;
  SavedWait saved;
  wire::OsCall call;
};

// What the call came back with.
struct WaitOutcome {
  int32_t result = 0;                      // return value, or -errno
  uint64_t timeout_ns = wire::kNoTimeout;  // asked for
  uint32_t count = 0;                      // ready descriptors
  bool any_length = false;                 // recorded below the threshold too (BlockingRule::kContended)
};

// A collapsed storm of sched_yield calls that is open on this thread ends here.
void CloseYieldStorm(ThreadState* thread) noexcept;

// In a forked child that has not been set up again: does that once it is clear that the child stays (it did not exec at
// once). True: recording now.
bool AdoptChild() noexcept;

// In a process without a streaming thread the calibration of the clock is kept fresh by the threads themselves.
void RefreshQuietClock() noexcept;
inline constexpr uint64_t kQuietRefreshTicks = uint64_t{1} << 28;  // about 0.1 s

// `object` 0: the wait has none, nobody can be seen waking it.
__attribute__((always_inline)) inline void StartWait(WaitFrame* frame, wire::OsCall call, uint64_t object) noexcept {
  if (__builtin_expect(!ProcessRecords(), 0) && !AdoptChild()) return;
  ThreadState* thread = CurrentThread();
  if (__builtin_expect(thread == nullptr, 0)) return;
  if (__builtin_expect(thread->yield_count != 0, 0)) CloseYieldStorm(thread);
  frame->thread = thread;
  frame->object = object;
  frame->call = call;
  const auto address = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (object != 0) AddWaiterOf(thread, object, address);
  frame->begin_ticks = FastTicks();
  frame->saved =
      ReplaceWait(thread, wire::RecordKind::kWait, static_cast<uint16_t>(call), object, frame->begin_ticks, address);
}

// The same for calls that nobody is looked for who ends them: the object is shown while the call lasts, and no waiter is
// announced. `address`: of the hook's stack frame.
inline void StartWaitUnannounced(WaitFrame* frame, wire::OsCall call, uint64_t object, uintptr_t address) noexcept {
  if (__builtin_expect(!ProcessRecords(), 0) && !AdoptChild()) return;
  ThreadState* thread = CurrentThread();
  if (__builtin_expect(thread == nullptr, 0)) return;
  if (__builtin_expect(thread->yield_count != 0, 0)) CloseYieldStorm(thread);
  frame->thread = thread;
  frame->object = 0;
  frame->call = call;
  frame->begin_ticks = FastTicks();
  frame->saved =
      ReplaceWait(thread, wire::RecordKind::kWait, static_cast<uint16_t>(call), object, frame->begin_ticks, address);
}

// `object`: 0 keeps the one of StartWait; a poll learns only at its end which descriptor it was about.
// Returns whether it left a record.
__attribute__((always_inline)) inline bool FinishWait(WaitFrame* frame, const WaitOutcome& outcome,
                                                      uint64_t object = 0) noexcept {
  ThreadState* thread = frame->thread;
  if (thread == nullptr || thread != CurrentThread())
    return false;  // the second: a signal handler forked, and we are the child
  const uint64_t end_ticks = FastTicks();
  RestoreWait(thread, frame->saved);
  if (frame->object != 0) RemoveWaiterOf(thread, frame->object);
  const uint64_t duration_ticks = end_ticks - frame->begin_ticks;
  const uint64_t threshold_ticks = (g_header->wait_threshold_ns.load(std::memory_order_relaxed) *
                                    g_ticks_per_ns_q20.load(std::memory_order_relaxed)) >>
                                   20;
  if (duration_ticks < threshold_ticks && !outcome.any_length) {
    CountShortWaitOf(thread);
    return false;
  }
  CommitTo(thread, {.begin = frame->begin_ticks,
                    .duration = duration_ticks,
                    .object = object != 0 ? object : frame->object,
                    .argument = outcome.timeout_ns,
                    .detail = outcome.count,
                    .stack = StackOfCall(thread, frame->begin_ticks, duration_ticks),
                    .kind = wire::RecordKind::kWait,
                    .call = static_cast<uint16_t>(frame->call),
                    .result = outcome.result});
  if (__builtin_expect(end_ticks - g_header->clock.base_ticks > kQuietRefreshTicks, 0)) RefreshQuietClock();
  return true;
}

// Something that lets a waiter go on. Begun before the real call, so that the edge is not later than the waiter's
// return.
struct WakeFrame {
  ThreadState* thread = nullptr;  // null: nobody waits, or not recorded
  uint64_t begin_ticks, object;
};

void StartWakeSlow(WakeFrame* frame, uint64_t object) noexcept;
void FinishWakeSlow(const WakeFrame& frame, wire::OsCall call, uint64_t detail) noexcept;

// One load where nobody waits.
__attribute__((always_inline)) inline void StartWake(WakeFrame* frame, uint64_t object) noexcept {
  if (__builtin_expect(SomebodyWaitsOn(object), 0)) StartWakeSlow(frame, object);
}
__attribute__((always_inline)) inline void FinishWake(const WakeFrame& frame, wire::OsCall call,
                                                      uint64_t detail = 0) noexcept {
  if (__builtin_expect(frame.thread != nullptr, 0)) FinishWakeSlow(frame, call, detail);
}

inline uint64_t AddressObject(const volatile void* address) noexcept { return reinterpret_cast<uintptr_t>(address); }

inline uint64_t DurationNs(const timespec* duration) noexcept {
  if (duration == nullptr) return wire::kNoTimeout;
  return static_cast<uint64_t>(duration->tv_sec) * 1'000'000'000u + static_cast<uint64_t>(duration->tv_nsec);
}

// The same after the call, when the kernel has looked at the pointer: a bad one must fail there (EFAULT), not here.
inline uint64_t DurationNsAfter(const timespec* duration, int64_t result) noexcept {
  return result < 0 && errno == EFAULT ? wire::kNoTimeout : DurationNs(duration);
}

// What was left of an absolute deadline when the wait began; 0 when it had passed. Without a system call.
uint64_t DeadlineNs(const WaitFrame& frame, clockid_t clock, const timespec* deadline) noexcept;

}  // namespace stallscope::agent
