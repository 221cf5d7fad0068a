// Semaphores. Their waits are cancellation points even where they do not block, so the try is preceded by
// pthread_testcancel, in glibc's own order (arguments, cancellation, try).
#include <errno.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/shared_objects.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

// True: taken without waiting. errno as the caller left it.
bool TryFirst(sem_t* semaphore) noexcept {
  STALLSCOPE_REAL(pthread_testcancel)();
  const int error = errno;
  if (STALLSCOPE_REAL(sem_trywait)(semaphore) == 0) return true;
  errno = error;
  return false;
}

bool ValidNanoseconds(const timespec* deadline) noexcept {
  return deadline->tv_nsec >= 0 && deadline->tv_nsec < 1'000'000'000;
}

int32_t ResultOf(int result) noexcept { return result == 0 ? 0 : -errno; }

__attribute__((noinline)) int PostWaitedFor(sem_t* semaphore, int (*real)(sem_t*)) noexcept {
  WakeFrame wake;
  StartWakeSlow(&wake, AddressObject(semaphore));
  const int result = real(semaphore);
  if (result == 0) FinishWake(wake, wire::OsCall::kSemPost);
  return result;
}

}  // namespace

STALLSCOPE_EXPORT(int, sem_wait, (sem_t * semaphore)) {
  if (__builtin_expect(TryFirst(semaphore), 1)) return 0;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kSemWait, AddressObject(semaphore));
  const int result = STALLSCOPE_REAL(sem_wait)(semaphore);
  FinishWait(&frame, {.result = ResultOf(result), .any_length = true});
  return result;
}

STALLSCOPE_EXPORT(int, sem_timedwait, (sem_t * semaphore, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(sem_timedwait);
  if (ValidNanoseconds(deadline) && __builtin_expect(TryFirst(semaphore), 1)) return 0;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kSemTimedwait, AddressObject(semaphore));
  const int result = real(semaphore, deadline);
  FinishWait(&frame, {.result = ResultOf(result), .timeout_ns = DeadlineNs(frame, CLOCK_REALTIME, deadline)});
  return result;
}

STALLSCOPE_EXPORT(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* deadline)) {
  auto* real = STALLSCOPE_REAL(sem_clockwait);
  if (real == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  const bool usable = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  if (usable && ValidNanoseconds(deadline) && __builtin_expect(TryFirst(semaphore), 1)) return 0;
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kSemClockwait, AddressObject(semaphore));
  const int result = real(semaphore, clock, deadline);
  FinishWait(&frame, {.result = ResultOf(result), .timeout_ns = DeadlineNs(frame, clock, deadline)});
  return result;
}

STALLSCOPE_EXPORT(int, sem_post, (sem_t * semaphore)) {
  auto* real = STALLSCOPE_REAL(sem_post);
  if (__builtin_expect(!SomebodyWaitsOn(AddressObject(semaphore)) && !WaitedForElsewhere(semaphore), 1)) {
    return real(semaphore);
  }
  return PostWaitedFor(semaphore, real);
}

}  // namespace stallscope::agent
