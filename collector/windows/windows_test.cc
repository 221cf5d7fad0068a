#include "collector/windows/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace stallscope {
namespace {

constexpr HostNs kSecond = 1'000'000'000;

TEST(LogHistogram, Quantiles_AreWithinOnePercent) {
  LogHistogram histogram;
  std::mt19937 random(7);
  std::lognormal_distribution<double> spread(std::log(15e6), 0.8);
  std::vector<int64_t> values;
  for (int i = 0; i < 20001; ++i) {
    values.push_back(static_cast<int64_t>(spread(random)));
    histogram.Add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(values.size()))) - 1;
    const auto exact = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(q)), exact, exact * 0.0101) << q;
  }
  EXPECT_EQ(histogram.max(), values.back());
  EXPECT_LE(histogram.Quantile(1.0), histogram.max());
}

TEST(LogHistogram, Merge_IsTheSameAsAddingAll) {
  LogHistogram a, b, both;
  for (int64_t v = 1000; v < 1'000'000'000; v = v * 5 / 4) {
    (v % 2 == 0 ? a : b).Add(v);
    both.Add(v);
  }
  a.Merge(b);
  EXPECT_EQ(a.count(), both.count());
  for (const double q : {0.1, 0.5, 0.9}) EXPECT_EQ(a.Quantile(q), both.Quantile(q));
}

TEST(LogHistogram, ExtremeValues_StayInTheOuterBuckets) {
  LogHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(0);
  histogram.Add(-5);
  histogram.Add(INT64_MAX);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_GE(histogram.Quantile(0.5), 0);
}

TEST(Windows, Sums_CoverTheLastSecondsOnly) {
  Windows windows;
  for (int second = 0; second < 20; ++second) {
    WindowSums* bucket = windows.BucketAt(second * kSecond + 1);
    ASSERT_NE(bucket, nullptr);
    bucket->steps += 1;
    windows.total().steps += 1;
  }
  const HostNs now = 19 * kSecond + 2;
  EXPECT_EQ(windows.Sum(0, now).steps, 20u);
  EXPECT_EQ(windows.Sum(10 * kSecond, now).steps, 11u);  // ten whole seconds and the one being filled
  EXPECT_EQ(windows.Sum(10 * kSecond, now + 100 * kSecond).steps, 0u);
}

TEST(Windows, BucketIsReused_OldContentIsGone) {
  Windows windows;
  windows.BucketAt(5 * kSecond)->steps = 7;
  WindowSums* later = windows.BucketAt((5 + Windows::kBuckets) * kSecond);
  ASSERT_NE(later, nullptr);
  EXPECT_EQ(later->steps, 0u);
  EXPECT_EQ(windows.BucketAt(5 * kSecond), nullptr);  // too old by now
}

TEST(CauseSketch, DominantCause_SurvivesManySmallOnes) {
  CauseSketch sketch;
  const CauseKey large = MakeCause(CauseKind::kThread, 0, 1);
  for (uint64_t i = 0; i < 1000; ++i) {
    sketch.Add(MakeCause(CauseKind::kThread, 0, 100 + i), 10, 1);
    sketch.Add(large, 12, 1);
  }
  EXPECT_EQ(sketch.Largest().key, large);
  EXPECT_GE(sketch.Largest().ns, 12'000);
}

TEST(CauseKey, Fields_ComeBack) {
  const CauseKey copy = MakeCause(CauseKind::kCopy, 17, 524288);
  EXPECT_EQ(KindOf(copy), CauseKind::kCopy);
  EXPECT_EQ(HighOf(copy), 17u);
  EXPECT_EQ(LowOf(copy), 524288u);
  const CauseKey call = MakeCause(CauseKind::kCudaCall, 1 << 16 | 131, 12);
  EXPECT_EQ(HighOf(call), (1u << 16 | 131));
  EXPECT_EQ(LowOf(call), 12u);
}

}  // namespace
}  // namespace stallscope
