// Mutexes, read-write locks, spin locks.
//
// Try first, time only when it blocks, and retry only on EBUSY: every other answer of the try is the lock's own answer
// too (EOWNERDEAD and ENOTRECOVERABLE of a robust mutex mean that it was taken or never will be; a retry would
// deadlock).
#include <errno.h>
#include <stdio.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/shared_objects.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

// A lock that was refused for another reason (EDEADLK) has not looked at its deadline, and neither must we.
const timespec* ReadDeadline(const timespec* deadline, int result) noexcept {
  return result == 0 || result == ETIMEDOUT ? deadline : nullptr;
}

template <typename Lock>
__attribute__((noinline)) int LockContended(Lock* lock, int (*real)(Lock*), wire::OsCall call) noexcept {
  WaitFrame frame;
  StartWait(&frame, call, AddressObject(lock));
  const int result = real(lock);
  FinishWait(&frame, {.result = -result, .any_length = true});
  return result;
}

// Before set-up, when nothing is recorded. Out of line, so that the way of all other calls needs no stack frame.
__attribute__((noinline)) int FirstUnlock(pthread_mutex_t* mutex) noexcept {
  return STALLSCOPE_REAL(pthread_mutex_unlock)(mutex);
}

template <typename Lock>
__attribute__((noinline)) int UnlockWaitedFor(Lock* lock, int (*real)(Lock*), wire::OsCall call) noexcept {
  WakeFrame wake;
  StartWakeSlow(&wake, AddressObject(lock));
  const int result = real(lock);
  if (result == 0) FinishWake(wake, call);
  return result;
}

}  // namespace

STALLSCOPE_EXPORT(int, pthread_mutex_lock, (pthread_mutex_t * mutex)) {
  const int result = STALLSCOPE_REAL(pthread_mutex_trylock)(mutex);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  return LockContended(mutex, STALLSCOPE_REAL(pthread_mutex_lock), wire::OsCall::kPthreadMutexLock);
}

STALLSCOPE_EXPORT(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const timespec* deadline)) {
  int result = STALLSCOPE_REAL(pthread_mutex_trylock)(mutex);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadMutexTimedlock, AddressObject(mutex));
  result = STALLSCOPE_REAL(pthread_mutex_timedlock)(mutex, deadline);
  FinishWait(&frame,
             {.result = -result, .timeout_ns = DeadlineNs(frame, CLOCK_REALTIME, ReadDeadline(deadline, result))});
  return result;
}

STALLSCOPE_EXPORT(int, pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_mutex_clocklock);
  if (real == nullptr) return ENOSYS;
  // An unusable clock is refused before the lock is looked at.
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return real(mutex, clock, deadline);
  int result = STALLSCOPE_REAL(pthread_mutex_trylock)(mutex);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadMutexClocklock, AddressObject(mutex));
  result = real(mutex, clock, deadline);
  FinishWait(&frame, {.result = -result, .timeout_ns = DeadlineNs(frame, clock, ReadDeadline(deadline, result))});
  return result;
}

STALLSCOPE_EXPORT(int, pthread_mutex_unlock, (pthread_mutex_t * mutex)) {
  auto* real = g_real.pthread_mutex_unlock;
  if (__builtin_expect(real == nullptr, 0)) return FirstUnlock(mutex);
  if (__builtin_expect(!SomebodyWaitsOn(AddressObject(mutex)) && !MutexIsShared(mutex), 1)) return real(mutex);
  if (!SomebodyWaitsOn(AddressObject(mutex)) && !WaitedForElsewhere(mutex)) return real(mutex);
  return UnlockWaitedFor(mutex, real, wire::OsCall::kPthreadMutexUnlock);
}

STALLSCOPE_EXPORT(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock)) {
  const int result = STALLSCOPE_REAL(pthread_rwlock_tryrdlock)(lock);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  return LockContended(lock, STALLSCOPE_REAL(pthread_rwlock_rdlock), wire::OsCall::kPthreadRwlockRdlock);
}

STALLSCOPE_EXPORT(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock)) {
  const int result = STALLSCOPE_REAL(pthread_rwlock_trywrlock)(lock);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  return LockContended(lock, STALLSCOPE_REAL(pthread_rwlock_wrlock), wire::OsCall::kPthreadRwlockWrlock);
}

namespace {

// The four with a deadline. `clock` CLOCK_REALTIME for those that name none.
template <typename Call>
__attribute__((always_inline)) inline int LockUntil(pthread_rwlock_t* lock, int (*try_lock)(pthread_rwlock_t*),
                                                    wire::OsCall name, clockid_t clock, const timespec* deadline,
                                                    Call call) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return call();
  int result = try_lock(lock);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  WaitFrame frame;
  StartWait(&frame, name, AddressObject(lock));
  result = call();
  FinishWait(&frame, {.result = -result, .timeout_ns = DeadlineNs(frame, clock, ReadDeadline(deadline, result))});
  return result;
}

}  // namespace

STALLSCOPE_EXPORT(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_rwlock_timedrdlock);
  return LockUntil(lock, STALLSCOPE_REAL(pthread_rwlock_tryrdlock), wire::OsCall::kPthreadRwlockTimedrdlock,
                   CLOCK_REALTIME, deadline, [&]() { return real(lock, deadline); });
}

STALLSCOPE_EXPORT(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_rwlock_timedwrlock);
  return LockUntil(lock, STALLSCOPE_REAL(pthread_rwlock_trywrlock), wire::OsCall::kPthreadRwlockTimedwrlock,
                   CLOCK_REALTIME, deadline, [&]() { return real(lock, deadline); });
}

STALLSCOPE_EXPORT(int, pthread_rwlock_clockrdlock,
                  (pthread_rwlock_t * lock, clockid_t clock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_rwlock_clockrdlock);
  if (real == nullptr) return ENOSYS;
  return LockUntil(lock, STALLSCOPE_REAL(pthread_rwlock_tryrdlock), wire::OsCall::kPthreadRwlockClockrdlock, clock,
                   deadline, [&]() { return real(lock, clock, deadline); });
}

STALLSCOPE_EXPORT(int, pthread_rwlock_clockwrlock,
                  (pthread_rwlock_t * lock, clockid_t clock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(pthread_rwlock_clockwrlock);
  if (real == nullptr) return ENOSYS;
  return LockUntil(lock, STALLSCOPE_REAL(pthread_rwlock_trywrlock), wire::OsCall::kPthreadRwlockClockwrlock, clock,
                   deadline, [&]() { return real(lock, clock, deadline); });
}

STALLSCOPE_EXPORT(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock)) {
  auto* real = STALLSCOPE_REAL(pthread_rwlock_unlock);
  if (__builtin_expect(!SomebodyWaitsOn(AddressObject(lock)) && !WaitedForElsewhere(lock), 1)) return real(lock);
  return UnlockWaitedFor(lock, real, wire::OsCall::kPthreadRwlockUnlock);
}

STALLSCOPE_EXPORT(int, pthread_spin_lock, (pthread_spinlock_t * lock)) {
  int result = STALLSCOPE_REAL(pthread_spin_trylock)(lock);
  if (__builtin_expect(result != EBUSY, 1)) return result;
  // No unlock hook: a spin lock's unlock is one store, and its waiter runs anyway.
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kPthreadSpinLock, 0);
  result = STALLSCOPE_REAL(pthread_spin_lock)(lock);
  FinishWait(&frame, {.result = -result, .any_length = true}, AddressObject(lock));
  return result;
}

// The lock inside a stdio stream. Its owner is not looked for: the unlock is inlined in most programs.
STALLSCOPE_EXPORT(void, flockfile, (FILE * stream)) {
  if (__builtin_expect(STALLSCOPE_REAL(ftrylockfile)(stream) == 0, 1)) return;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kFlockfile, 0);
  STALLSCOPE_REAL(flockfile)(stream);
  FinishWait(&frame, {}, AddressObject(stream));
}

}  // namespace stallscope::agent
