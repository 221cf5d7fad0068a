#include "collector/windows/window_sums.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

WindowSums OneStep(HostNs begin, HostNs end) {
  WindowSums sums;
  sums.steps = 1, sums.tokens = 2, sums.wall_ns = end - begin;
  sums.first_begin = begin, sums.last_end = end;
  sums.lines[0] = end - begin;
  sums.batch.context_tokens = 7;
  sums.Sync(5) = {5, 1, 100, 40, 3, 2, 1};
  sums.itl.Add(end - begin);
  return sums;
}

TEST(WindowSums, Merged_AddsUpAndSpansBoth) {
  WindowSums sums = OneStep(1'000, 2'000);
  WindowSums later = OneStep(5'000, 9'000);
  later.Sync(6).calls = 4;
  later.dropped = 3;
  sums.Merge(later);
  EXPECT_EQ(sums.steps, 2u);
  EXPECT_EQ(sums.tokens, 4u);
  EXPECT_EQ(sums.wall_ns, 5'000);
  EXPECT_EQ(sums.lines[0], 5'000);
  EXPECT_EQ(sums.first_begin, 1'000);
  EXPECT_EQ(sums.last_end, 9'000);
  EXPECT_EQ(sums.dropped, 3u);
  EXPECT_EQ(sums.batch.context_tokens, 14u);
  EXPECT_EQ(sums.itl.count(), 2u);
  ASSERT_EQ(sums.syncs.size(), 2u);
  EXPECT_EQ(sums.Sync(5).calls, 2u);
  EXPECT_EQ(sums.Sync(5).over_wait_ns, 80);
  EXPECT_EQ(sums.Sync(6).calls, 4u);
}

TEST(WindowSums, MergedWithAnEarlierOne_BeginsThere) {
  WindowSums sums = OneStep(5'000, 9'000);
  sums.Merge(OneStep(1'000, 2'000));
  EXPECT_EQ(sums.first_begin, 1'000);
  EXPECT_EQ(sums.last_end, 9'000);
}

// Otherwise a window without steps would pull the beginning to 0.
TEST(WindowSums, OneWithoutSteps_DoesNotMoveTheSpan) {
  WindowSums sums = OneStep(5'000, 9'000);
  WindowSums empty;
  empty.events = 10;
  sums.Merge(empty);
  EXPECT_EQ(sums.first_begin, 5'000);
  EXPECT_EQ(sums.events, 10u);
  empty.Merge(sums);
  EXPECT_EQ(empty.first_begin, 5'000);
  EXPECT_EQ(empty.last_end, 9'000);
}

TEST(WindowSums, Cleared_HoldsNothing) {
  WindowSums sums = OneStep(5'000, 9'000);
  sums.Clear();
  EXPECT_EQ(sums.steps, 0u);
  EXPECT_TRUE(sums.syncs.empty());
  EXPECT_EQ(sums.itl.count(), 0u);
  EXPECT_EQ(sums.lines[0], 0);
}

}  // namespace
}  // namespace stallscope
