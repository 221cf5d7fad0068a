#include "collector/windows/log_histogram.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

TEST(LogHistogram, Empty_SaysZero) {
  LogHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  EXPECT_EQ(histogram.max(), 0);
  histogram.Merge(LogHistogram());
  EXPECT_EQ(histogram.count(), 0u);
}

TEST(LogHistogram, OneValue_IsEveryQuantile) {
  LogHistogram histogram;
  histogram.Add(20'000'000);
  for (const double q : {0.0, 0.5, 1.0}) {
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(q)), 20e6, 20e6 * 0.0101) << q;
    EXPECT_LE(histogram.Quantile(q), 20'000'000) << q;
  }
}

// 99 fast steps and a slow one: the nearest rank tells them apart exactly.
TEST(LogHistogram, TheRareValue_IsInTheQuantileThatHoldsIt) {
  LogHistogram histogram;
  histogram.Add(1'000'000, 99);
  histogram.Add(50'000'000);
  EXPECT_NEAR(static_cast<double>(histogram.Quantile(0.99)), 1e6, 1e6 * 0.0101);
  EXPECT_NEAR(static_cast<double>(histogram.Quantile(0.991)), 50e6, 50e6 * 0.0101);
}

TEST(LogHistogram, ValuesOutOfItsRange_GoToItsEnds) {
  LogHistogram histogram;
  histogram.Add(0);
  histogram.Add(-5);
  EXPECT_EQ(histogram.Quantile(0.5), 0);  // never above the largest
  histogram.Add(INT64_MAX);
  EXPECT_EQ(histogram.max(), INT64_MAX);
  EXPECT_GT(histogram.Quantile(1.0), 900'000'000'000);  // the last bucket, about 1000 s
  EXPECT_EQ(histogram.count(), 3u);
}

TEST(LogHistogram, Cleared_IsAsNew) {
  LogHistogram histogram;
  histogram.Add(5'000);
  histogram.Clear();
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(1'000);
  EXPECT_EQ(histogram.max(), 1'000);
}

}  // namespace
}  // namespace stallscope
