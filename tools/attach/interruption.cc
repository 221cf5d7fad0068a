#include "tools/attach/interruption.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace stallscope::attach {
namespace {

// The kernel's own codes (include/linux/errno.h), which only a tracer sees.
constexpr int64_t kRestartSys = -512, kRestartNoIntr = -513, kRestartNoHand = -514, kRestartBlock = -516;

bool IsPlainFutexWait(const ParkedCall& call) {
  const uint64_t command = call.arguments[1] & FUTEX_CMD_MASK;
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

}  // namespace

std::optional<int> InterruptionRank(const ParkedCall& call) {
  const bool waits_on = static_cast<int32_t>(call.arguments[3]) < 0;  // epoll: without a time limit
  switch (call.number) {
    case SYS_futex:
      return IsPlainFutexWait(call) ? std::optional<int>(0) : std::nullopt;
    case SYS_poll:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_pause:
    case SYS_restart_syscall:  // one of these three, after an earlier interruption
      return 0;
    case SYS_ppoll:
      return call.arguments[3] == 0 ? std::optional<int>(0) : std::nullopt;  // a signal mask
    case SYS_select:
    case SYS_read:
    case SYS_readv:
    case SYS_accept:
    case SYS_accept4:
    case SYS_wait4:
    case SYS_waitid:
      return 1;
    case SYS_pselect6:
      return call.arguments[5] == 0 ? std::optional<int>(1) : std::nullopt;
    case SYS_recvfrom:
      return (call.arguments[3] & MSG_WAITALL) == 0 ? std::optional<int>(1) : std::nullopt;
    case SYS_recvmsg:
      return (call.arguments[2] & MSG_WAITALL) == 0 ? std::optional<int>(1) : std::nullopt;
    case SYS_epoll_wait:
      return waits_on ? 2 : 3;  // put back by hand: a limit begins anew
    case SYS_epoll_pwait:
      if (call.arguments[4] != 0) return std::nullopt;
      return waits_on ? 2 : 3;
    default:
      return std::nullopt;
  }
}

Interrupted HowInterrupted(int64_t return_value) {
  switch (return_value) {
    case kRestartSys:
    case kRestartNoIntr:
    case kRestartNoHand:
    case kRestartBlock:
      return Interrupted::kRestarts;
    case -EINTR:
      return Interrupted::kPutBack;
    default:
      return Interrupted::kCompleted;
  }
}

user_regs_struct CalledAgain(const user_regs_struct& interrupted) {
  user_regs_struct again = interrupted;
  const auto returned = static_cast<int64_t>(interrupted.rax);
  if (static_cast<int64_t>(interrupted.orig_rax) < 0 || HowInterrupted(returned) == Interrupted::kCompleted)
    return again;
  again.rax = returned == kRestartBlock ? uint64_t{SYS_restart_syscall} : interrupted.orig_rax;
  again.orig_rax = ~uint64_t{0};
  again.rip -= 2;  // the syscall instruction
  return again;
}

}  // namespace stallscope::attach
