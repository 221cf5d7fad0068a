#include "tools/attach/interruption.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace stallscope::attach {
namespace {

ParkedCall Call(int64_t number, std::initializer_list<uint64_t> arguments) {
  ParkedCall call;
  call.number = number;
  std::copy(arguments.begin(), arguments.end(), call.arguments);
  return call;
}

TEST(InterruptionRank, CallsThatTheKernelRestarts_ComeFirst) {
  EXPECT_EQ(InterruptionRank(Call(SYS_futex, {0x1000, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG})), 0);
  EXPECT_EQ(InterruptionRank(Call(SYS_poll, {0x1000, 1, ~0u})), 0);
  EXPECT_EQ(InterruptionRank(Call(SYS_clock_nanosleep, {})), 0);
  EXPECT_EQ(InterruptionRank(Call(SYS_restart_syscall, {})), 0);
  EXPECT_EQ(InterruptionRank(Call(SYS_read, {0})), 1);
}

user_regs_struct Stopped(uint64_t number, int64_t returned) {
  user_regs_struct registers{};
  registers.orig_rax = number, registers.rax = static_cast<uint64_t>(returned), registers.rip = 0x1002;
  return registers;
}

TEST(CalledAgain, AnInterruptedCall_IsMadeTheWayTheKernelWouldMakeIt) {
  for (const int64_t returned : {int64_t{-512}, int64_t{-514}, int64_t{-EINTR}}) {
    const user_regs_struct again = CalledAgain(Stopped(SYS_read, returned));
    EXPECT_EQ(again.rax, static_cast<uint64_t>(SYS_read)) << returned;
    EXPECT_EQ(again.rip, 0x1000u);
    EXPECT_EQ(again.orig_rax, ~uint64_t{0});
  }
  // The rest of its time limit lies with the kernel.
  EXPECT_EQ(CalledAgain(Stopped(SYS_poll, -516)).rax, static_cast<uint64_t>(SYS_restart_syscall));
}

TEST(CalledAgain, ACallThatHasEnded_IsNotMadeTwice) {
  EXPECT_EQ(CalledAgain(Stopped(SYS_read, 8)).rip, 0x1002u);
  EXPECT_EQ(CalledAgain(CalledAgain(Stopped(SYS_read, -512))).rip, 0x1000u);
}

TEST(InterruptionRank, EpollWait_IsTheLastResort) {
  EXPECT_EQ(InterruptionRank(Call(SYS_epoll_wait, {3, 0x1000, 8, 0xffffffff})), 2);
  EXPECT_EQ(InterruptionRank(Call(SYS_epoll_wait, {3, 0x1000, 8, 100})), 3);
}

TEST(InterruptionRank, CallsThatMayHaveDoneHalf_AreNotTouched) {
  EXPECT_FALSE(InterruptionRank(Call(SYS_write, {1})).has_value());
  EXPECT_FALSE(InterruptionRank(Call(SYS_sendto, {1})).has_value());
  EXPECT_FALSE(InterruptionRank(Call(SYS_connect, {1})).has_value());
  EXPECT_FALSE(InterruptionRank(Call(SYS_recvfrom, {1, 0, 0, 0x100})).has_value());  // MSG_WAITALL
  EXPECT_FALSE(InterruptionRank(Call(-1, {})).has_value());
}

TEST(InterruptionRank, CallsThatChangeTheSignalMask_AreNotTouched) {
  EXPECT_FALSE(InterruptionRank(Call(SYS_ppoll, {0x1000, 1, 0, 0x2000})).has_value());
  EXPECT_EQ(InterruptionRank(Call(SYS_ppoll, {0x1000, 1, 0, 0})), 0);
  EXPECT_FALSE(InterruptionRank(Call(SYS_pselect6, {1, 0, 0, 0, 0, 0x2000})).has_value());
  EXPECT_FALSE(InterruptionRank(Call(SYS_epoll_pwait, {3, 0x1000, 8, 0xffffffff, 0x2000})).has_value());
  EXPECT_FALSE(InterruptionRank(Call(SYS_rt_sigsuspend, {})).has_value());
}

TEST(InterruptionRank, FutexesThatAreLocks_AreNotTouched) {
  EXPECT_FALSE(InterruptionRank(Call(SYS_futex, {0x1000, FUTEX_LOCK_PI})).has_value());
}

TEST(HowInterrupted, OnlyTheKernelsOwnCodes_Restart) {
  for (const int64_t code : {-512, -513, -514, -516}) EXPECT_EQ(HowInterrupted(code), Interrupted::kRestarts) << code;
  EXPECT_EQ(HowInterrupted(-EINTR), Interrupted::kPutBack);
  EXPECT_EQ(HowInterrupted(0), Interrupted::kCompleted);
  EXPECT_EQ(HowInterrupted(-EAGAIN), Interrupted::kCompleted);
}

}  // namespace
}  // namespace stallscope::attach
