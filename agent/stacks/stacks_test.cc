#include "agent/stacks/stacks.h"

#include <execinfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "agent/stacks/test_stacks.h"

namespace stallscope::agent {
void ReportState(uint32_t, uint64_t, const char*) noexcept {}
void Log(const char*, const char*, int64_t) noexcept {}

namespace {

using ::testing::ElementsAre;

TEST(FrameRules, AddedAndFull_AreFoundOrClearedTogether) {
  std::vector<FrameRules::Cell> cells(FrameRules::kCells);
  FrameRules rules;
  rules.Use(cells.data());
  EXPECT_EQ(rules.Find(0x1234).kind, FrameKind::kUnknown);
  rules.Add(0x1234, {FrameKind::kFromBp, true, -16, 1 << 20});
  const FrameRule rule = rules.Find(0x1234);
  EXPECT_EQ(rule.kind, FrameKind::kFromBp);
  EXPECT_TRUE(rule.bp_saved);
  EXPECT_EQ(rule.bp_offset, -16);
  EXPECT_EQ(rule.cfa_offset, 1 << 20);
  for (uint64_t place = 1; place < FrameRules::kMostRules; ++place) rules.Add(place << 20, {FrameKind::kOpaque});
  EXPECT_EQ(rules.count(), FrameRules::kMostRules);
  rules.Add(0x5678, {FrameKind::kOutermost});
  EXPECT_EQ(rules.count(), 1u);
  EXPECT_EQ(rules.Find(0x1234).kind, FrameKind::kUnknown);
}

// A stack made of words: frame i at word 4 * i, its return address and saved bp on top.
class MadeUpStack : public ::testing::Test {
 protected:
  static constexpr uint64_t kBase = 0x7000'0000'0000;
  MadeUpStack() : cells_(FrameRules::kCells) {
    rules_.Use(cells_.data());
    for (uint64_t i = 1; i <= 8; ++i) {
      words_[4 * i - 1] = 0x1000 + 0x10 * (i + 1);
      words_[4 * i - 2] = kBase + 32 * (i + 1);
      rules_.Add(0x1000 + 0x10 * i, {FrameKind::kFromSp, true, -16, 32});
    }
    rules_.Add(0x1090, {FrameKind::kOutermost});
  }
  Walk Run() {
    const auto offset = static_cast<int64_t>(reinterpret_cast<uint64_t>(words_) - kBase);
    return WalkStack(rules_, {0x1010, kBase, kBase + 32}, {kBase, kBase + sizeof(words_), offset}, own_, frames_);
  }
  std::vector<uint64_t> Frames(const Walk& walk) { return {frames_, frames_ + walk.count}; }

  std::vector<FrameRules::Cell> cells_;
  FrameRules rules_;
  CodeExtent own_;
  uint64_t words_[40] = {}, frames_[kMostFrames] = {};
};

TEST_F(MadeUpStack, AllRulesKnown_GivesEveryFrameInnermostFirst) {
  const Walk walk = Run();
  EXPECT_EQ(walk.end, Walk::End::kOutermost);
  EXPECT_THAT(Frames(walk), ElementsAre(0x1010, 0x1020, 0x1030, 0x1040, 0x1050, 0x1060, 0x1070, 0x1080, 0x1090));
}

TEST_F(MadeUpStack, OwnCode_IsLeftOut) {
  own_ = {0x1010, 0x1028};
  const Walk walk = Run();
  EXPECT_EQ(frames_[0], 0x1030u);
  EXPECT_EQ(walk.count, 7u);
}

TEST_F(MadeUpStack, UnknownPlace_IsNamed) {
  rules_.Add(0x1050, {});
  const Walk walk = Run();
  EXPECT_EQ(walk.end, Walk::End::kNoRule);
  EXPECT_EQ(walk.place.ip, 0x1050u);
}

TEST_F(MadeUpStack, OpaquePlace_CutsThere) {
  rules_.Add(0x1030, {FrameKind::kOpaque});
  const Walk walk = Run();
  EXPECT_EQ(walk.end, Walk::End::kCut);
  EXPECT_EQ(walk.count, 3u);
}

TEST_F(MadeUpStack, RulesThatLeadOutside_ReadNothingThere) {
  for (const FrameRule rule :
       {FrameRule{FrameKind::kFromSp, false, 0, -64}, FrameRule{FrameKind::kFromSp, false, 0, 0},
        FrameRule{FrameKind::kFromSp, false, 0, 33}, FrameRule{FrameKind::kBehindBp, false, 0, 1 << 30},
        FrameRule{FrameKind::kFromSp, true, -4096, 32}, FrameRule{FrameKind::kFromBp, true, 32000, 0}}) {
    rules_.Add(0x1020, rule);
    EXPECT_EQ(Run().end, Walk::End::kBroken) << static_cast<int>(rule.kind) << " " << rule.cfa_offset;
  }
}

TEST_F(MadeUpStack, FramesThatLeadBack_DoNotGoRoundForEver) {
  // bp based, and bp points to the frame itself.
  words_[4 * 3 - 2] = kBase;
  rules_.Add(0x1040, {FrameKind::kFromBp, true, -16, 32});
  EXPECT_EQ(Run().end, Walk::End::kBroken);
}

TEST(StackTable, SameStack_HasOneNumberAGeneration) {
  TestStacks stacks;
  if (!stacks.available()) GTEST_SKIP() << "libunwind-x86_64.so.8 is not installed";
  StackTable& table = g_stack_rounds.stacks()->table;
  const uint64_t frames[] = {1, 2, 3}, others[] = {1, 2, 4};
  const uint32_t first = table.Intern(frames, 3, 1, false, 77);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(table.Intern(frames, 3, 1, false, 77), first);
  EXPECT_NE(table.Intern(others, 3, 1, false, 77), first) << "the hash alone does not make them the same";
  EXPECT_NE(table.Intern(frames, 3, 2, false, 77), first);
  EXPECT_NE(table.Intern(frames, 3, 1, true, 77), first);
  EXPECT_NE(table.Intern(frames, 2, 1, false, 77), first);
  EXPECT_EQ(table.Get(first).count, 3u);
  EXPECT_EQ(table.Get(0).count, 0u);
  EXPECT_EQ(table.Get(1u << 30).count, 0u);
}

TEST(StackTable, Full_SaysSoAndKeepsWhatIsThere) {
  TestStacks stacks;
  if (!stacks.available()) GTEST_SKIP() << "libunwind-x86_64.so.8 is not installed";
  StackTable& table = g_stack_rounds.stacks()->table;
  const uint64_t kept[] = {9};
  const uint32_t first = table.Intern(kept, 1, 1, false, 9);
  uint64_t frames[2] = {};
  for (frames[0] = 10; table.Intern(frames, 2, 1, false, frames[0]) != 0; ++frames[0]) {
  }
  EXPECT_EQ(table.used(), stacks.header()->stack_capacity);
  EXPECT_EQ(stacks.header()->counters[static_cast<uint32_t>(wire::Counter::kStacksExhausted)].load(), 1u);
  EXPECT_EQ(table.Intern(kept, 1, 1, false, 9), first);
}

// What glibc's own backtrace() says at the same place, from the caller of the function that asks.
std::vector<uint64_t> Backtrace() {
  void* frames[128];
  const int count = backtrace(frames, 128);
  std::vector<uint64_t> found;
  for (int i = 0; i < count; ++i) found.push_back(reinterpret_cast<uint64_t>(frames[i]));
  return found;
}

class RealStack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!stacks_.available()) GTEST_SKIP() << "libunwind-x86_64.so.8 is not installed";
    g_stack_rounds.stacks()->own = {};  // this program is the agent's module here
  }
  TestStacks stacks_;
};

TEST_F(RealStack, FirstTime_IsWalkedFromTheCopyThatWasLeft) {
  std::vector<uint64_t> expected;
  auto work = [&] {
    expected = Backtrace();
    return static_cast<int>(TakeHere(stacks_.thread()) ^ wire::kStackPending);
  };
  const uint32_t provisional = (static_cast<uint32_t>(AtDepth(25, work)) - 25) ^ wire::kStackPending;
  ASSERT_NE(provisional & wire::kStackPending, 0u);
  const uint32_t id = FinalStack(provisional);
  ASSERT_NE(id, 0u);
  const KnownStack stack = StackById(id);
  // Innermost are the two functions that asked, at different calls; outside of the program's main they may differ by one.
  ASSERT_GE(stack.count, 27u);
  const auto begin = std::find(expected.begin(), expected.end(), stack.frames[1]);
  ASSERT_NE(begin, expected.end());
  for (uint32_t i = 1; i < 27; ++i) EXPECT_EQ(stack.frames[i], begin[i - 1]) << i;
  EXPECT_FALSE(stack.cut);
}

TEST_F(RealStack, SecondTime_IsWalkedByTheThreadItself) {
  uint32_t id[3] = {};
  for (uint32_t& taken : id) {
    auto work = [&] {
      taken = TakeHere(stacks_.thread());
      return 0;
    };
    AtDepth(25, work);
    taken = FinalStack(taken);
    RunStackRound(MonotonicNs());
  }
  EXPECT_NE(id[0], 0u);
  EXPECT_EQ(id[1], id[2]);
}

TEST_F(RealStack, AnUnloadMeanwhile_LeavesNothingToBeMistaken) {
  auto take = [&] { return static_cast<int>(TakeHere(stacks_.thread())); };
  AtDepth(5, take);
  RunStackRound(MonotonicNs());
  g_unloads_begun.fetch_add(1);  // a dlclose runs
  uint32_t during = 1;
  auto taken_during = [&] { return static_cast<int>(during = TakeHere(stacks_.thread())); };
  AtDepth(5, taken_during);
  EXPECT_EQ(during, 0u);
  g_unloads_ended.fetch_add(1);
  // Until the streaming thread has looked, the map is old: a copy is left, and it is good only if nothing more goes.
  uint32_t after = 0;
  auto taken_after = [&] { return static_cast<int>(after = TakeHere(stacks_.thread())); };
  AtDepth(5, taken_after);
  EXPECT_NE(after & wire::kStackPending, 0u);
  g_unloads_begun.fetch_add(1);
  g_unloads_ended.fetch_add(1);
  RunStackRound(MonotonicNs());
  EXPECT_EQ(FinalStack(after), 0u);
  EXPECT_GE(stacks_.header()->counters[static_cast<uint32_t>(wire::Counter::kStacksMissed)].load(), 1u);
}

TEST_F(RealStack, AnotherStack_IsNotRead) {
  // As on a signal stack or a coroutine's: the frame lies outside of what is known of the thread.
  std::vector<uint64_t> elsewhere(64);
  const auto frame = reinterpret_cast<uintptr_t>(&elsewhere[8]);
  EXPECT_EQ(TakeStack(stacks_.thread(), frame, 1, 1'000'000'000), 0u);
}

TEST_F(RealStack, ShortCalls_AreSampled) {
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 2 * kStackSampling; ++i) {
    taken += TakeStack(stacks_.thread(), reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), 1, 2'000) != 0;
  }
  EXPECT_EQ(taken, 2u);
}

TEST_F(RealStack, AThreadThatIsBlocked_IsWalkedFromOutside) {
  std::atomic<bool> blocked{false}, go_on{false};
  std::atomic<wire::ThreadSlot*> slot{nullptr};
  std::thread thread([&] {
    auto work = [&] {
      ThreadState* state = CurrentThread();
      slot = state->slot;
      state->slot->current.kind = static_cast<uint16_t>(wire::RecordKind::kWait);
      state->slot->current.begin = 4711;  // long ago
      __atomic_store_n(&state->wait_frame, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), __ATOMIC_RELAXED);
      state->slot->current.call_plus_one = 1;
      blocked = true;
      while (!go_on) std::this_thread::yield();
      return 0;
    };
    AtDepth(12, work);
  });
  while (!blocked) std::this_thread::yield();
  RunStackRound(MonotonicNs());
  const wire::CurrentWait& current = slot.load()->current;
  EXPECT_EQ(current.stack_begin_low, 4711u);
  EXPECT_GT(StackById(current.stack).count, 13u);
  go_on = true;
  thread.join();
}

}  // namespace
}  // namespace stallscope::agent
