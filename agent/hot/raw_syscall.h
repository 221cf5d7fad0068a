// System calls without libc: the agent's own I/O must not go through symbols that it interposes itself, must not touch
// errno and must not be a cancellation point. Results are the kernel's: negative errno on failure.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace stallscope::agent {

#if defined(__x86_64__)
inline long RawSyscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#else
#error "the agent knows x86-64 only; a port adds its system call instruction here"
#endif

template <typename T>
long AsArgument(T* pointer) noexcept {
  return static_cast<long>(reinterpret_cast<intptr_t>(pointer));
}

// For the agent's own threads: the calling thread becomes SCHED_BATCH (3), whatever policy its creator had, so that waking
// up it never takes the processor from a thread of the program. Refused by a sandbox: nothing changes.
inline void NeverPreempt() noexcept {
  const int priority = 0;  // struct sched_param
  RawSyscall(SYS_sched_setscheduler, 0, 3, AsArgument(&priority));
}

}  // namespace stallscope::agent
