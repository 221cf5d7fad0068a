#include "collector/main/waits_in_flight.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stallscope {
namespace {

class WaitsInFlightTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/stallscope-waits-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Thread(uint32_t tid, const std::string& name, const std::string& syscall) {
    const std::string folder = root_ + "/7/task/" + std::to_string(tid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/syscall") << syscall << "\n";
    std::ofstream(folder + "/status") << "Name:\t" << name << "\nNSpid:\t" << tid << "\n"
                                      << "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n";
  }

  std::string root_;
};

constexpr char kInRead[] = "0 0x5 0x7ffe 0x1 0x0 0x0 0x0 0x7f0000001000 0x7f0000002000";
constexpr char kInFutex[] = "202 0x5000 0x189 0x0 0x0 0x0 0xffffffff 0x7f0000003000 0x7f0000004000";

TEST_F(WaitsInFlightTest, WaitsOfTheAttach_StandInTheListUntilTheyEnd) {
  Thread(8, "reader", kInRead);
  Thread(9, "waiter", kInFutex);
  Thread(10, "runner", "running");
  const ProcFiles proc(root_);
  WaitsInFlight waits(&proc, 7);
  waits.Begin(1'000);
  std::vector<BlockedThread> list;
  waits.AppendTo(&list, 5'000);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].thread_name, "reader");
  EXPECT_EQ(list[0].call, "read");
  EXPECT_EQ(list[0].object, 0x7fff'0000'0000'0005u);
  EXPECT_EQ(list[0].for_ns, 4'000);
  EXPECT_EQ(list[1].call, "futex");
  EXPECT_EQ(list[1].object, 0x5000u);

  Thread(8, "reader", "running");
  // Interrupted and restarted: the same wait.
  Thread(9, "waiter", "219 0x5000 0x189 0x0 0x0 0x0 0xffffffff 0x7f0000003000 0x7f0000004000");
  list.clear();
  waits.AppendTo(&list, 6'000);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].call, "futex");

  Thread(8, "reader", kInRead);  // another wait at the same place: the agent has seen that one
  list.clear();
  waits.AppendTo(&list, 7'000);
  EXPECT_EQ(list.size(), 1u);
}

TEST_F(WaitsInFlightTest, TheThreadThatAttachBorrowed_IsFoundWhenItIsBackInItsCall) {
  constexpr HostNs kSecond = 1'000'000'000;
  Thread(8, "reader", kInRead);
  Thread(9, "borrowed",
         "9 0x0 0x1000 0x3 0x22 0xffffffff 0x0 0x7f0000005000 0x7f0000006000");  // mmap, for the injector
  const ProcFiles proc(root_);
  WaitsInFlight waits(&proc, 7);
  waits.LookAgain(kSecond / 2);  // of a process that was not attached to: nothing
  waits.Begin(kSecond);
  Thread(9, "borrowed", kInFutex);
  waits.LookAgain(kSecond + kSecond / 4);
  std::vector<BlockedThread> list;
  waits.AppendTo(&list, 3 * kSecond);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].for_ns, 2 * kSecond);
  EXPECT_EQ(list[1].call, "futex");
  EXPECT_EQ(list[1].for_ns, 2 * kSecond - kSecond / 4);

  Thread(10, "late", kInRead);  // began long after the attach: the agent knows it, or it is no call that counts
  waits.LookAgain(10 * kSecond);
  list.clear();
  waits.AppendTo(&list, 10 * kSecond);
  EXPECT_EQ(list.size(), 2u);
}

TEST_F(WaitsInFlightTest, AThreadThatTheAgentKnows_IsNotSaidTwice) {
  Thread(8, "reader", kInRead);
  const ProcFiles proc(root_);
  WaitsInFlight waits(&proc, 7);
  waits.Begin(1'000);
  std::vector<BlockedThread> list(1);
  list[0].tid = 8;
  waits.AppendTo(&list, 5'000);
  EXPECT_EQ(list.size(), 1u);
}

TEST(ParkedCall, OfEachFormOfTheFile_IsRead) {
  EXPECT_FALSE(ParseParkedCall("running\n").has_value());
  EXPECT_FALSE(ParseParkedCall("").has_value());
  const auto outside = ParseParkedCall("-1 0x7ffe 0x7f00\n");
  ASSERT_TRUE(outside.has_value());
  EXPECT_EQ(outside->number, -1);
  const auto read = ParseParkedCall(kInRead);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->number, 0);
  EXPECT_EQ(read->arguments[0], 5u);
  EXPECT_EQ(read->stack_pointer, 0x7f0000001000u);
  EXPECT_EQ(read->program_counter, 0x7f0000002000u);
  EXPECT_EQ(SystemCallName(9999), "syscall_9999");
}

}  // namespace
}  // namespace stallscope
