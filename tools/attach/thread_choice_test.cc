#include "tools/attach/thread_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace stallscope::attach {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kPid = 100;
constexpr uint64_t kInLibc = 0x7000'0100;

MappedModule Libc() {
  Mapping code;
  code.begin = 0x7000'0000, code.end = 0x7000'1000, code.executable = true;
  MappedModule libc;
  libc.base = code.begin, libc.end = code.end;
  libc.mappings.push_back(code);
  return libc;
}

ParkedCall Call(int64_t number, std::initializer_list<uint64_t> arguments = {}) {
  ParkedCall call;
  call.number = number, call.program_counter = kInLibc, call.stack_pointer = 0x9000;
  std::copy(arguments.begin(), arguments.end(), call.arguments);
  return call;
}

std::vector<int> Tids(const std::vector<Candidate>& candidates) {
  std::vector<int> tids;
  for (const Candidate& candidate : candidates) tids.push_back(candidate.tid);
  return tids;
}

TEST(ThreadChoice, CallsThatAreRestarted_ComeFirstAndTheFirstThreadLastAmongItsLike) {
  ThreadChoice choice(kPid, Libc());
  EXPECT_THAT(Tids(choice.Rank({{kPid, Call(SYS_poll)},
                                {101, Call(SYS_epoll_wait, {3, 0x1000, 8, 0xffffffff})},
                                {102, Call(SYS_read)},
                                {103, Call(SYS_futex, {0x1000, FUTEX_WAIT})}})),
              ElementsAre(103, kPid, 102, 101));
  EXPECT_EQ(choice.last_why(), "");
}

TEST(ThreadChoice, ACallThatMayHaveDoneHalf_IsLeftOutAndNamed) {
  ThreadChoice choice(kPid, Libc());
  EXPECT_THAT(choice.Rank({{kPid, Call(SYS_write)}}), IsEmpty());
  EXPECT_EQ(choice.last_why(), "in write");
}

TEST(ThreadChoice, ACallThatIsNotMadeByTheCLibrary_IsLeftOut) {
  ThreadChoice choice(kPid, Libc());
  ParkedCall elsewhere = Call(SYS_poll);
  elsewhere.program_counter = 0x5000'0000;
  EXPECT_THAT(choice.Rank({{kPid, elsewhere}}), IsEmpty());
}

TEST(ThreadChoice, OneThatWasRuledOut_ComesAgainOnlyInAnotherCall) {
  ThreadChoice choice(kPid, Libc());
  const ParkedThreads parked = {{101, Call(SYS_poll)}, {102, Call(SYS_poll)}};
  choice.RuleOut(choice.Rank(parked).front(), "inside malloc");
  EXPECT_EQ(choice.last_why(), "inside malloc");
  EXPECT_THAT(Tids(choice.Rank(parked)), ElementsAre(102));
  ParkedThreads later = parked;
  later[101].stack_pointer += 16;
  EXPECT_THAT(Tids(choice.Rank(later)), ElementsAre(101, 102));
}

}  // namespace
}  // namespace stallscope::attach
