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

// For the agent's own threads: the calling thread becomes SCHED_BATCH (3), whatever policy its creator had, with a slice of
// 0.1 ms (honoured from Linux 6.12 on): waking up it never takes the processor from a thread of the program, and one that
// wakes up gets it back soon. Refused by a sandbox: nothing changes.
inline void NeverPreempt() noexcept {
  struct {  // struct sched_attr of linux/sched/types.h, first version
    uint32_t size = 48, policy = 3;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t slice_ns = 100'000, deadline = 0, period = 0;
  } attributes;
  // The system call answers 20 - nice.
  attributes.nice = static_cast<int32_t>(20 - RawSyscall(SYS_getpriority, 0, 0));
  RawSyscall(SYS_sched_setattr, 0, AsArgument(&attributes), 0);
}

}  // namespace stallscope::agent
