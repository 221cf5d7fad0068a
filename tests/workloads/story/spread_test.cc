#include "tests/workloads/story/spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/workloads/story/ledger.h"
#include "tests/workloads/story/plan.h"

namespace workloads {
namespace {

uint64_t Sum(const std::vector<uint64_t>& values) { return std::accumulate(values.begin(), values.end(), uint64_t{0}); }

TEST(Spread, PublishedRows_AgreeInTotalMedianLeastAndGreatest) {
  for (const PublishedRow& row : kKernelRows) {
    const auto values = SortedSpread(row.count, {row.total_ns, row.median_ns, row.min_ns, row.max_ns});
    ASSERT_EQ(values.size(), row.count);
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << row.name;
    EXPECT_NEAR(static_cast<double>(Sum(values)) / static_cast<double>(row.total_ns), 1, 0.001) << row.name;
    EXPECT_EQ(values.front(), row.min_ns) << row.name;
    EXPECT_NEAR(static_cast<double>(values.back()), static_cast<double>(row.max_ns), 1) << row.name;
    EXPECT_NEAR(static_cast<double>(values[row.count / 2]) / static_cast<double>(row.median_ns), 1, 0.05) << row.name;
  }
}

TEST(Spread, TooFewForTheGreatest_KeepTheTotal) {
  const auto values = SortedSpread(4, {10'000, 1'000, 100, 5'000'000});
  EXPECT_NEAR(static_cast<double>(Sum(values)), 10'000, 10);
}

TEST(Spread, OneAndTwoValues_AreTheTotal) {
  EXPECT_EQ(SortedSpread(1, {77, 1, 1, 1}), std::vector<uint64_t>{77});
  EXPECT_EQ(SortedSpread(2, {100, 50, 40, 60}), (std::vector<uint64_t>{40, 60}));
}

TEST(Spread, Shuffle_KeepsTheValuesAndIsAlwaysTheSame) {
  std::vector<uint64_t> values(1000), again(1000);
  std::iota(values.begin(), values.end(), 0);
  again = values;
  Shuffle(&values, 7);
  Shuffle(&again, 7);
  EXPECT_EQ(values, again);
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  EXPECT_EQ(Sum(values), 999u * 1000 / 2);
}

TEST(Ledger, LateWaits_AreGivenBackByTheNext) {
  Ledger ledger({100, 100, 100}, 10);
  EXPECT_EQ(ledger.Wanted(), 100u);
  ledger.Took(150);
  EXPECT_EQ(ledger.Wanted(), 50u);
  ledger.Took(190);  // later than one can give back
  EXPECT_EQ(ledger.Wanted(), 10u);
  ledger.Took(10);
  EXPECT_TRUE(ledger.done());
  EXPECT_EQ(ledger.debt_ns(), 50);
}

// What the plan says must add up to the published counts, whatever the run then does.
TEST(StoryPlan, FullScale_HoldsThePublishedCounts) {
  const Plan plan(1, {});
  EXPECT_EQ(plan.steps, 941u);
  EXPECT_EQ(plan.graphs.size(), 12'474u);
  const auto graph_tiles = static_cast<uint64_t>(
      std::count_if(plan.graphs.begin(), plan.graphs.end(), [](uint8_t kind) { return (kind & kGraphHasTile) != 0; }));
  EXPECT_EQ(plan.direct_tiles + graph_tiles, kTiles);
  EXPECT_EQ(plan.direct_tiles + graph_tiles + plan.large_copies + plan.small_copies, 396'828u);
  const uint64_t by_calls = plan.direct_tiles + plan.large_copies + plan.small_copies + plan.uploads + plan.read_backs;
  EXPECT_LE(411'272 - by_calls, kGraphKinds) << "the rest is captured, once a kind of graph";
  EXPECT_EQ(plan.direct_kernels[static_cast<int>(StoryKernel::kFill)] + plan.graphs.size() * kFillsPerGraph, 54'136u);
}

TEST(StoryPlan, Shares_AddUp) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 941; ++i) sum += Share(396'828, 941, i);
  EXPECT_EQ(sum, 396'828u);
}

TEST(StoryPlan, Fixes_TakeAwayWhatTheyFix) {
  Fixes fixes;
  std::string unknown;
  ASSERT_TRUE(ParseFixes("prezero,slice-graph", &fixes, &unknown));
  const Plan plan(0.1, fixes);
  EXPECT_EQ(plan.direct_kernels[static_cast<int>(StoryKernel::kFill)], 0u);
  EXPECT_EQ(plan.direct_tiles, plan.steps);
  EXPECT_TRUE(
      std::all_of(plan.graphs.begin(), plan.graphs.end(), [](uint8_t kind) { return (kind & kGraphHasTile) == 0; }));
  EXPECT_FALSE(ParseFixes("handoff,pol", &fixes, &unknown));
  EXPECT_EQ(unknown, "pol");
}

}  // namespace
}  // namespace workloads
