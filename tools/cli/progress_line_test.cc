#include "tools/cli/progress_line.h"

#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(ProgressLine, ShortWork_ShowsNothing) {
  ProgressLine line("reading", 7 * kMs);
  EXPECT_EQ(line.Update(50, 100, 506 * kMs), "");
  EXPECT_EQ(line.End(), "");
}

TEST(ProgressLine, LongWork_IsShownNowAndThenAndWiped) {
  ProgressLine line("reading", 0);
  EXPECT_EQ(line.Update(421, 1000, 500 * kMs), "\rreading: 42 %\x1b[K");
  EXPECT_EQ(line.Update(450, 1000, 699 * kMs), "");
  EXPECT_EQ(line.Update(1000, 1000, 700 * kMs), "\rreading: 100 %\x1b[K");
  EXPECT_EQ(line.End(), "\r\x1b[K");
}

TEST(ProgressLine, NothingToDo_ShowsNothing) { EXPECT_EQ(ProgressLine("reading", 0).Update(0, 0, 900 * kMs), ""); }

}  // namespace
}  // namespace stallscope::cli
