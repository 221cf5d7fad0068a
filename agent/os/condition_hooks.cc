// Condition variables, at both of their symbol versions.
//
// GLIBC_2.2.5 condition variables hold a pointer to a 2.3.2 one; a program built against either must reach that very
// function, else it hangs. The two sets of hooks share their code and differ in the set of real functions.
// (exports.map)
#include <errno.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/python_lock.h"
#include "agent/os/shared_objects.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

void EnsureResolved() noexcept {
  if (__builtin_expect(g_real.condition_2_3_2.wait == nullptr, 0)) ResolveRealCalls();
}

// The wait gives the mutex up, which lets its waiters go on like an unlock.
void WakeMutexWaiters(pthread_mutex_t* mutex) noexcept {
  WakeFrame wake;
  if (__builtin_expect(MutexIsShared(mutex), 0)) {
    if (WaitedForElsewhere(mutex)) StartWakeSlow(&wake, AddressObject(mutex));
  } else {
    StartWake(&wake, AddressObject(mutex));
  }
  FinishWake(wake, wire::OsCall::kPthreadMutexUnlock);
}

wire::OsCall NameOf(wire::OsCall call, uint64_t condition) noexcept {
  return IsPythonLock(condition) ? wire::OsCall::kPythonGil : call;
}

// A 2.2.5 condition variable is a pointer to the real one, and nobody shares those between processes.
void StartConditionWake(WakeFrame* wake, const RealConditions& real, pthread_cond_t* condition) noexcept {
  if (__builtin_expect(SomebodyWaitsOn(AddressObject(condition)), 0) ||
      (&real != &g_real.condition_2_2_5 && WaitedForElsewhere(condition))) {
    StartWakeSlow(wake, AddressObject(condition));
  }
}

int Wait(const RealConditions& real, pthread_cond_t* condition, pthread_mutex_t* mutex) noexcept {
  EnsureResolved();
  WakeMutexWaiters(mutex);
  WaitFrame frame;
  StartWait(&frame, NameOf(wire::OsCall::kPthreadCondWait, AddressObject(condition)), AddressObject(condition));
  const int result = real.wait(condition, mutex);
  FinishWait(&frame, {.result = -result});
  return result;
}

int TimedWait(const RealConditions& real, pthread_cond_t* condition, pthread_mutex_t* mutex,
              const timespec* deadline) noexcept {
  EnsureResolved();
  WakeMutexWaiters(mutex);
  WaitFrame frame;
  StartWait(&frame, NameOf(wire::OsCall::kPthreadCondTimedwait, AddressObject(condition)), AddressObject(condition));
  const int result = real.timedwait(condition, mutex, deadline);
  // Which clock a condition variable uses is glibc's secret. Seconds since 1970 and seconds since boot are easily told
  // apart.
  const clockid_t clock = deadline->tv_sec > 1'000'000'000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  FinishWait(&frame, {.result = -result, .timeout_ns = DeadlineNs(frame, clock, deadline)});
  return result;
}

int Signal(const RealConditions& real, pthread_cond_t* condition) noexcept {
  EnsureResolved();
  WakeFrame wake;
  StartConditionWake(&wake, real, condition);
  const int result = real.signal(condition);
  FinishWake(wake, wire::OsCall::kPthreadCondSignal);
  return result;
}

int Broadcast(const RealConditions& real, pthread_cond_t* condition) noexcept {
  EnsureResolved();
  WakeFrame wake;
  StartConditionWake(&wake, real, condition);
  const int result = real.broadcast(condition);
  FinishWake(wake, wire::OsCall::kPthreadCondBroadcast);
  return result;
}

}  // namespace

#define STALLSCOPE_CONDITION_HOOKS(suffix)                                                                           \
  extern "C" __attribute__((visibility("default"))) int stallscope_cond_wait_##suffix(pthread_cond_t* condition,     \
                                                                                      pthread_mutex_t* mutex) {      \
    return Wait(g_real.condition_##suffix, condition, mutex);                                                        \
  }                                                                                                                  \
  extern "C" __attribute__((visibility("default"))) int stallscope_cond_timedwait_##suffix(                          \
      pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* deadline) {                                 \
    return TimedWait(g_real.condition_##suffix, condition, mutex, deadline);                                         \
  }                                                                                                                  \
  extern "C" __attribute__((visibility("default"))) int stallscope_cond_signal_##suffix(pthread_cond_t* condition) { \
    return Signal(g_real.condition_##suffix, condition);                                                             \
  }                                                                                                                  \
  extern "C"                                                                                                         \
      __attribute__((visibility("default"))) int stallscope_cond_broadcast_##suffix(pthread_cond_t* condition) {     \
    return Broadcast(g_real.condition_##suffix, condition);                                                          \
  }

STALLSCOPE_CONDITION_HOOKS(2_2_5)
STALLSCOPE_CONDITION_HOOKS(2_3_2)

__asm__(
    ".symver stallscope_cond_wait_2_2_5, pthread_cond_wait@GLIBC_2.2.5, remove\n"
    ".symver stallscope_cond_wait_2_3_2, pthread_cond_wait@@GLIBC_2.3.2, remove\n"
    ".symver stallscope_cond_timedwait_2_2_5, pthread_cond_timedwait@GLIBC_2.2.5, remove\n"
    ".symver stallscope_cond_timedwait_2_3_2, pthread_cond_timedwait@@GLIBC_2.3.2, remove\n"
    ".symver stallscope_cond_signal_2_2_5, pthread_cond_signal@GLIBC_2.2.5, remove\n"
    ".symver stallscope_cond_signal_2_3_2, pthread_cond_signal@@GLIBC_2.3.2, remove\n"
    ".symver stallscope_cond_broadcast_2_2_5, pthread_cond_broadcast@GLIBC_2.2.5, remove\n"
    ".symver stallscope_cond_broadcast_2_3_2, pthread_cond_broadcast@@GLIBC_2.3.2, remove\n");

STALLSCOPE_EXPORT(int, pthread_cond_clockwait,
                  (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_cond_clockwait);
  if (real == nullptr) return ENOSYS;
  WakeMutexWaiters(mutex);
  WaitFrame frame;
  StartWait(&frame, NameOf(wire::OsCall::kPthreadCondClockwait, AddressObject(condition)), AddressObject(condition));
  const int result = real(condition, mutex, clock, deadline);
  FinishWait(&frame, {.result = -result, .timeout_ns = DeadlineNs(frame, clock, deadline)});
  return result;
}

}  // namespace stallscope::agent
