#include "tools/attach/thread_stack.h"

#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tools/attach/target_process.h"

namespace stallscope::attach {
namespace {

ForbiddenCode OfThisProcess() {
  const auto mappings = ParseMaps(ReadProcFile("/proc/self/maps"));
  auto forbidden = ForbiddenCode::Of(getpid(), ModulesOf(mappings), mappings);
  EXPECT_TRUE(forbidden.ok()) << forbidden.status();
  return forbidden.ok() ? *forbidden : ForbiddenCode();
}

// This thread as a tracer would find it.
user_regs_struct RegistersOf(const ucontext_t& context) {
  const auto& from = context.uc_mcontext.gregs;
  user_regs_struct registers{};
  registers.rip = static_cast<uint64_t>(from[REG_RIP]), registers.rsp = static_cast<uint64_t>(from[REG_RSP]);
  registers.rbp = static_cast<uint64_t>(from[REG_RBP]), registers.rbx = static_cast<uint64_t>(from[REG_RBX]);
  registers.r12 = static_cast<uint64_t>(from[REG_R12]), registers.r13 = static_cast<uint64_t>(from[REG_R13]);
  registers.r14 = static_cast<uint64_t>(from[REG_R14]), registers.r15 = static_cast<uint64_t>(from[REG_R15]);
  return registers;
}

struct Judged {
  StackCopy copy;
  StackVerdict verdict;
};
__attribute__((noinline)) Judged JudgeHere(const ForbiddenCode& forbidden) {
  ucontext_t context;
  getcontext(&context);
  const user_regs_struct registers = RegistersOf(context);
  Judged judged;
  judged.copy = CopyStack(getpid(), registers, forbidden.StackEnd(registers.rsp));
  judged.verdict = JudgeStack(getpid(), judged.copy, forbidden);
  return judged;
}

TEST(ForbiddenCode, KnowsTheAllocatorAndTheLoaderFromOrdinaryCode) {
  const ForbiddenCode forbidden = OfThisProcess();
  const ExportedSymbols& libc = forbidden.libc_symbols();
  EXPECT_EQ(forbidden.Why(libc.Address("malloc")), "inside malloc");
  EXPECT_EQ(forbidden.Why(libc.Address("free") + 1), "inside malloc");
  EXPECT_EQ(forbidden.Why(libc.Address("dl_iterate_phdr")), "inside dl_iterate_phdr");
  EXPECT_EQ(forbidden.Why(libc.Address("read")), "");
  EXPECT_EQ(forbidden.Why(reinterpret_cast<uint64_t>(&OfThisProcess)), "");
  EXPECT_EQ(forbidden.Why(0), "");
}

TEST(ForbiddenCode, TellsCodeOfFilesAndStacksFromTheRest) {
  const ForbiddenCode forbidden = OfThisProcess();
  const int on_stack = 0;
  const auto stack = reinterpret_cast<uint64_t>(&on_stack);
  const auto code = reinterpret_cast<uint64_t>(&OfThisProcess);
  EXPECT_TRUE(forbidden.IsFileCode(code));
  EXPECT_FALSE(forbidden.IsFileCode(stack));
  EXPECT_NE(forbidden.TableAt(code), nullptr);
  EXPECT_EQ(forbidden.TableAt(stack), nullptr);
  EXPECT_GT(forbidden.StackEnd(stack), stack);
  EXPECT_EQ(forbidden.StackEnd(0), 0u);
}

TEST(ForbiddenCode, AProcessWithoutTheCLibrary_IsRefused) { EXPECT_FALSE(ForbiddenCode::Of(getpid(), {}, {}).ok()); }

TEST(JudgeStack, OrdinaryCode_IsWalkedToItsEndAndMayBeUsed) {
  const Judged judged = JudgeHere(OfThisProcess());
  EXPECT_EQ(judged.verdict.why_not, "");
  EXPECT_TRUE(judged.verdict.walked_to_its_end);
  EXPECT_GT(judged.verdict.frames, 3);
}

struct InsideCallback {
  const ForbiddenCode* forbidden;
  Judged judged;
};
int JudgeInLoader(dl_phdr_info*, size_t, void* argument) {
  auto* inside = static_cast<InsideCallback*>(argument);
  inside->judged = JudgeHere(*inside->forbidden);
  return 1;
}

TEST(JudgeStack, ACallbackOfTheLoader_IsForbiddenByTheFrameBelow) {
  const ForbiddenCode forbidden = OfThisProcess();
  InsideCallback inside = {&forbidden, {}};
  dl_iterate_phdr(JudgeInLoader, &inside);
  EXPECT_EQ(inside.judged.verdict.why_not, "inside dl_iterate_phdr");
}

// Generated code has no tables: what lies on the stack decides.
TEST(JudgeStack, WhereTheWalkEnds_ReturnAddressesOnTheStackDecide) {
  const ForbiddenCode forbidden = OfThisProcess();
  StackCopy generated = JudgeHere(forbidden).copy;
  std::fill(generated.bytes.begin(), generated.bytes.end(), uint8_t{0});
  generated.registers.rip = 0x1000;  // in no file
  EXPECT_EQ(JudgeStack(getpid(), generated, forbidden).why_not, "");
  // Behind the first call in malloc or after it.
  const uint64_t malloc_at = forbidden.libc_symbols().Address("malloc");
  uint64_t behind_call = 0;
  for (uint64_t at = malloc_at; at < malloc_at + 4096 && behind_call == 0; ++at) {
    uint8_t opcode = 0;
    if (ReadMemory(getpid(), at, &opcode, 1) == 1 && opcode == 0xe8) behind_call = at + 5;
  }
  ASSERT_NE(behind_call, 0u);
  std::memcpy(generated.bytes.data() + (generated.registers.rsp - generated.begin) + 16, &behind_call, 8);
  EXPECT_EQ(JudgeStack(getpid(), generated, forbidden).why_not, "perhaps inside malloc");
}

TEST(JudgeStack, AStackThatCannotBeRead_IsNotTakenForASafeOne) {
  const ForbiddenCode forbidden = OfThisProcess();
  StackCopy unknown;
  unknown.registers.rip = 0x1000;
  unknown.registers.rsp = 0x2000;
  unknown.begin = unknown.registers.rsp - 128;
  EXPECT_EQ(JudgeStack(getpid(), unknown, forbidden).why_not, "on a stack that cannot be read");
}

TEST(StillTheSame, OnlyWhereRegistersAndReturnAddressesAre) {
  const ForbiddenCode forbidden = OfThisProcess();
  ucontext_t context;
  getcontext(&context);
  const user_regs_struct registers = RegistersOf(context);
  const StackCopy copy = CopyStack(getpid(), registers, forbidden.StackEnd(registers.rsp));
  const StackVerdict verdict = JudgeStack(getpid(), copy, forbidden);
  ASSERT_FALSE(verdict.return_addresses.empty());
  EXPECT_TRUE(StillTheSame(getpid(), copy, verdict, registers));
  user_regs_struct moved = registers;
  moved.rip += 1;
  EXPECT_FALSE(StillTheSame(getpid(), copy, verdict, moved));
  moved = registers;
  moved.orig_rax += 1;
  EXPECT_FALSE(StillTheSame(getpid(), copy, verdict, moved));
  StackVerdict other = verdict;
  other.return_addresses.back().second += 1;  // as if another function had been called since
  EXPECT_FALSE(StillTheSame(getpid(), copy, other, registers));
}

}  // namespace
}  // namespace stallscope::attach
