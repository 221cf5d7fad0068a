// Waits through syscall(): futex, what C++ std::atomic::wait, std::counting_semaphore, Rust, Go's cgo parts and many
// thread pools block in; futex_waitv; io_uring_enter, also under its own name in liburing.
//
// syscall() is variadic and any of its calls may be special (vfork, clone), so the hook is a comparison and a jump;
// only those three, and seccomp (confinement.cc), go through C++.
#include <errno.h>
#include <linux/futex.h>

#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/wait_frame.h"

namespace stallscope::agent {
namespace {

using SyscallFunction = long (*)(long, long, long, long, long, long, long);

enum class FutexEffect { kNeither, kWaits, kWakes };

FutexEffect EffectOf(int operation) noexcept {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
      return FutexEffect::kWaits;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_UNLOCK_PI:
      return FutexEffect::kWakes;
    default:
      return FutexEffect::kNeither;
  }
}

// After the call, and only where its answer shows that the kernel could read the timeout.
uint64_t TimeoutNs(const WaitFrame& frame, int operation, const timespec* timeout, long result) noexcept {
  const bool was_read = result == 0 || errno == ETIMEDOUT || errno == EAGAIN || errno == EINTR;
  if (timeout == nullptr || !was_read) return wire::kNoTimeout;
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT) return DurationNs(timeout);
  const bool realtime = (operation & FUTEX_CLOCK_REALTIME) != 0 || (operation & FUTEX_CMD_MASK) == FUTEX_LOCK_PI;
  return DeadlineNs(frame, realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, timeout);
}

}  // namespace

// Entered by a jump from the assembly below, with syscall()'s own arguments in place.
extern "C" __attribute__((visibility("hidden"), used)) long stallscope_futex(long number, long address, long operation,
                                                                             long value, long timeout, long address2,
                                                                             long value3) {
  auto* real = reinterpret_cast<SyscallFunction>(STALLSCOPE_REAL(syscall));
  const uint64_t object = static_cast<uint64_t>(address);
  switch (EffectOf(static_cast<int>(operation))) {
    case FutexEffect::kWaits: {
      WaitFrame frame;
      StartWait(&frame, wire::OsCall::kFutexWait, object);
      const long result = real(number, address, operation, value, timeout, address2, value3);
      FinishWait(&frame, {.result = result < 0 ? -errno : static_cast<int32_t>(result),
                          .timeout_ns = TimeoutNs(frame, static_cast<int>(operation),
                                                  reinterpret_cast<const timespec*>(timeout), result)});
      return result;
    }
    case FutexEffect::kWakes: {
      // The kernel says how many it woke, here or in another process: no need to look who waits.
      WakeFrame wake;
      StartWakeSlow(&wake, object);
      const long result = real(number, address, operation, value, timeout, address2, value3);
      if (result > 0 || (result == 0 && (operation & FUTEX_CMD_MASK) == FUTEX_UNLOCK_PI)) {
        FinishWake(wake, wire::OsCall::kFutexWake);
      }
      return result;
    }
    case FutexEffect::kNeither:
      break;
  }
  return real(number, address, operation, value, timeout, address2, value3);
}

// struct futex_waitv of linux/futex.h (5.16).
struct FutexWaitv {
  uint64_t value, address;
  uint32_t flags, reserved;
};

extern "C" __attribute__((visibility("hidden"), used)) long stallscope_futex_waitv(long number, long waiters,
                                                                                   long count, long flags, long timeout,
                                                                                   long clock, long unused) {
  auto* real = reinterpret_cast<SyscallFunction>(STALLSCOPE_REAL(syscall));
  WaitFrame frame;
  StartWait(&frame, wire::OsCall::kFutexWaitv, 0);
  const long result = real(number, waiters, count, flags, timeout, clock, unused);
  // The array may be no memory at all until the kernel has said which of its words was woken.
  const auto* array = reinterpret_cast<const FutexWaitv*>(waiters);
  const bool timed_out = result < 0 && errno == ETIMEDOUT;
  FinishWait(&frame,
             {.result = result < 0 ? -errno : static_cast<int32_t>(result),
              .timeout_ns = timed_out ? DeadlineNs(frame, static_cast<clockid_t>(clock),
                                                   reinterpret_cast<const timespec*>(timeout))
                                      : wire::kNoTimeout},
             result >= 0 && result < count ? array[result].address : 0);
  return result;
}

extern "C" __attribute__((visibility("hidden"), used)) long stallscope_io_uring_enter(long number, long fd, long submit,
                                                                                      long complete, long flags,
                                                                                      long mask, long mask_bytes) {
  auto* real = reinterpret_cast<SyscallFunction>(STALLSCOPE_REAL(syscall));
  WaitFrame frame;
  const uint64_t object = wire::FdObject(static_cast<int>(fd));
  StartWait(&frame, wire::OsCall::kIoUringEnter, complete > 0 ? object : 0);
  const long result = real(number, fd, submit, complete, flags, mask, mask_bytes);
  FinishWait(&frame, {.result = result < 0 ? -errno : static_cast<int32_t>(result)}, object);
  return result;
}

// liburing's own function of that name returns the negative error number.
STALLSCOPE_EXPORT(int, io_uring_enter,
                  (unsigned fd, unsigned submit, unsigned complete, unsigned flags, sigset_t* mask)) {
  auto* real = STALLSCOPE_REAL(io_uring_enter);
  if (real == nullptr) return -ENOSYS;
  WaitFrame frame;
  const uint64_t object = wire::FdObject(static_cast<int>(fd));
  StartWait(&frame, wire::OsCall::kIoUringEnter, complete > 0 ? object : 0);
  const int result = real(fd, submit, complete, flags, mask);
  FinishWait(&frame, {.result = result}, object);
  return result;
}

// errno for a system call that was made before the real syscall() was known.
extern "C" __attribute__((visibility("hidden"), used)) long stallscope_syscall_failed(long negative_errno) {
  (void)STALLSCOPE_REAL(syscall);  // errno cannot be reached before that (early_calls.h)
  errno = static_cast<int>(-negative_errno);
  return -1;
}

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl syscall\n"
    ".type syscall, @function\n"
    ".p2align 4\n"
    "syscall:\n"
    ".cfi_startproc\n"
    "  endbr64\n"
    "  cmpq $202, %rdi\n"  // SYS_futex
    "  je stallscope_futex\n"
    "  cmpq $449, %rdi\n"  // SYS_futex_waitv
    "  je stallscope_futex_waitv\n"
    "  cmpq $426, %rdi\n"  // SYS_io_uring_enter
    "  je stallscope_io_uring_enter\n"
    "  cmpq $317, %rdi\n"  // SYS_seccomp
    "  je stallscope_seccomp\n"
    "  movq stallscope_real_syscall(%rip), %r11\n"
    "  testq %r11, %r11\n"
    "  je 1f\n"
    "  jmp *%r11\n"
    // Before set-up: the system call itself, as glibc makes it.
    "1:\n"
    "  movq %rdi, %rax\n"
    "  movq %rsi, %rdi\n"
    "  movq %rdx, %rsi\n"
    "  movq %rcx, %rdx\n"
    "  movq %r8, %r10\n"
    "  movq %r9, %r8\n"
    "  movq 8(%rsp), %r9\n"
    "  syscall\n"
    "  cmpq $-4095, %rax\n"
    "  jae 2f\n"
    "  ret\n"
    "2:\n"
    "  movq %rax, %rdi\n"
    "  jmp stallscope_syscall_failed\n"
    ".cfi_endproc\n"
    ".size syscall, . - syscall\n");
#endif

}  // namespace stallscope::agent
