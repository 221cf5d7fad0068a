#include "tools/tui/number_text.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::tui {
namespace {

TEST(Grouped, ThousandsAndDecimals) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
  EXPECT_EQ(Grouped(-1234), "-1,234");
  EXPECT_EQ(Grouped(5, 1), "0.5");
  EXPECT_EQ(Grouped(1234567, 1), "123,456.7");
}

TEST(Duration, ThreeDigitsAndAUnit) {
  EXPECT_EQ(Duration(812), "812 ns");
  EXPECT_EQ(Duration(2'310'000'000), "2.31 s");
  EXPECT_EQ(Duration(16'400'000), "16.4 ms");
  EXPECT_EQ(Duration(463'000), "463 us");
}

TEST(ShareOut, Thirds_StillSumToTheTotal) {
  EXPECT_THAT(ShareOut({1, 1, 1}, 100), testing::ElementsAre(34, 33, 33));
  EXPECT_THAT(ShareOut({0, 0}, 100), testing::ElementsAre(0, 0));
  const std::vector<int64_t> parts = {6'120'333, 17, 3'480'999, 1, 200'001};
  const auto shares = ShareOut(parts, 16450);
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), 16450);
}

TEST(ShareOut, LargeSums_DoNotOverflow) {
  const int64_t hour_ns = 3'600'000'000'000;
  EXPECT_THAT(ShareOut({hour_ns * 24, hour_ns * 24}, hour_ns), testing::ElementsAre(hour_ns / 2, hour_ns / 2));
}

TEST(Padded, CutsAtCharactersNotBytes) {
  EXPECT_EQ(Padded("abc", 5), "abc  ");
  EXPECT_EQ(Padded("größer", 4), "grö…");
  EXPECT_EQ(Columns("größer"), 6u);
  EXPECT_EQ(PaddedLeft("größe", 6), " größe");
}

}  // namespace
}  // namespace stallscope::tui
