// prctl and seccomp(2): moments at which a program takes from itself what the agent's hooks use.
//
// In strict mode any system call but read, write, exit and sigreturn kills the thread, and the kernel takes the TSC away
// too; a filter may kill the process for a call of ours that the program never makes (the first one of a thread makes
// three); PR_SET_TSC makes a reading of the clock a fault. So what the agent needs is done before, where it can be, and
// nothing of it afterwards: a thread that loses its clock is no longer recorded; behind a filter the threads that have
// their ring go on, since a record makes no system call, and new threads and children are not taken up. A filter that
// only refuses (an error number, a log line) harms nobody and changes nothing here. One that was there when the process
// began is not seen: the agent's calls fare as the program's would.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "agent/entry/early_calls.h"
#include "agent/entry/exports.h"
#include "agent/entry/real_calls.h"
#include "agent/os/wait_frame.h"
#include "agent/stream/streaming.h"

namespace stallscope::agent {
namespace {

enum class Taken { kNothing, kClockOfThread, kClock, kSystemCalls };

Taken TakenByPrctl(int option, unsigned long argument) noexcept {
  if (option == PR_SET_SECCOMP) {
    return argument == SECCOMP_MODE_STRICT ? Taken::kClockOfThread : Taken::kSystemCalls;
  }
  return option == PR_SET_TSC && argument == PR_TSC_SIGSEGV ? Taken::kClock : Taken::kNothing;
}

// Of a filter that the kernel has accepted, so that it can be read.
bool OnlyRefuses(unsigned long argument) noexcept {
  const auto* program = reinterpret_cast<const sock_fprog*>(argument);
  for (unsigned i = 0; i < program->len; ++i) {
    const sock_filter& step = program->filter[i];
    if (BPF_CLASS(step.code) != BPF_RET) continue;
    const uint32_t action = step.k & SECCOMP_RET_ACTION_FULL;
    const bool harmless = action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_LOG;
    if (BPF_RVAL(step.code) != BPF_K || !harmless) return false;
  }
  return true;
}

template <typename Call>
__attribute__((always_inline)) inline auto Confine(Taken taken, unsigned long filter, Call call) noexcept
    -> decltype(call()) {
  if (!IsRelocated()) return call();  // no thread has anything to lose yet, nor a place for what is written here
  const bool was_confined = g_confined.load(std::memory_order_relaxed);
  // Without a TSC of ours a record asks the kernel for the time.
  const bool thread_ends = taken != Taken::kSystemCalls || !g_use_tsc;
  CurrentThread();  // has its slot while it may still ask for one
  if (thread_ends) ++t_local.inside;
  // New threads inherit all of it but strict mode, whose thread can make none.
  if (taken != Taken::kClockOfThread) g_confined.store(true, std::memory_order_relaxed);
  const auto result = call();
  if (result < 0 || (taken == Taken::kSystemCalls && OnlyRefuses(filter))) {
    if (thread_ends) --t_local.inside;
    g_confined.store(was_confined, std::memory_order_relaxed);
  }
  return result;
}

}  // namespace

STALLSCOPE_EXPORT(int, prctl, (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)) {
  auto* real = STALLSCOPE_REAL(prctl);
  const Taken taken = TakenByPrctl(option, a);
  if (__builtin_expect(taken != Taken::kNothing, 0)) {
    return Confine(taken, b, [&]() { return real(option, a, b, c, d); });
  }
  WaitFrame frame;
  StartWaitUnannounced(&frame, wire::OsCall::kPrctl, 0, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  const int result = real(option, a, b, c, d);
  FinishWait(&frame, {.result = result < 0 ? -errno : result});
  return result;
}

// Entered by a jump from syscall() (futex_hook.cc), with its arguments in place.
extern "C" __attribute__((visibility("hidden"), used)) long stallscope_seccomp(long number, long operation, long flags,
                                                                               long argument, long a, long b, long c) {
  auto* real = reinterpret_cast<long (*)(long, long, long, long, long, long, long)>(STALLSCOPE_REAL(syscall));
  const auto call = [&]() { return real(number, operation, flags, argument, a, b, c); };
  if (operation == SECCOMP_SET_MODE_STRICT) return Confine(Taken::kClockOfThread, 0, call);
  if (operation != SECCOMP_SET_MODE_FILTER) return call();
  // For all threads at once: ours must not be there. After a filter that only refuses it comes back with the program's next
  // thread; until then, and behind any other, the collector reads the memory itself.
  if ((flags & SECCOMP_FILTER_FLAG_TSYNC) != 0) {
    const int error = errno;
    StopStreamingThread();
    errno = error;
  }
  return Confine(Taken::kSystemCalls, static_cast<unsigned long>(argument), call);
}

}  // namespace stallscope::agent
