#include "tools/tui/live_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::tui {
namespace {

using testing::HasSubstr;

BudgetReport TwoProcesses() {
  BudgetReport report;
  report.processes.resize(2);
  report.processes[0].pid = 10, report.processes[0].process_name = "frontend";
  report.processes[1].pid = 20, report.processes[1].process_name = "engine";
  report.processes[1].steps = 5, report.processes[1].tokens = 5, report.processes[1].wall_ns = 5000;
  report.processes[1].lines[static_cast<int>(Line::kHostCpu)].ns = 5000;
  return report;
}

std::string Text(LiveView& view, const BudgetReport& report, size_t height = 50) {
  return PlainText(view.Render(report, 100, height));
}

TEST(LiveView, NoneChosen_ShowsTheBusiest) {
  LiveView view(0, 0, "x", false);
  EXPECT_THAT(Text(view, TwoProcesses()), HasSubstr("engine 20"));
}

TEST(LiveView, KeyP_WalksThroughProcesses) {
  LiveView view(0, 0, "x", false);
  EXPECT_TRUE(view.HandleKey('p'));
  EXPECT_THAT(Text(view, TwoProcesses()), HasSubstr("frontend 10"));
  EXPECT_TRUE(view.HandleKey('p'));
  EXPECT_THAT(Text(view, TwoProcesses()), HasSubstr("engine 20"));
}

TEST(LiveView, ChosenProcessGone_SaysSo) {
  LiveView view(0, 77, "x", false);
  const std::string text = Text(view, TwoProcesses());
  EXPECT_THAT(text, HasSubstr("Process 77 is not among"));
  EXPECT_THAT(text, testing::Not(HasSubstr("No process is connected")));
  EXPECT_THAT(PlainText({view.Render(TwoProcesses(), 80, 5).back()}), HasSubstr("[q]uit"));
}

TEST(LiveView, KeyW_GoesRoundTheWindows) {
  LiveView view(10'000'000'000, 0, "x", false);
  std::vector<int64_t> seconds;
  for (int i = 0; i < 5; ++i) {
    view.HandleKey('w');
    seconds.push_back(view.window_ns() / 1'000'000'000);
  }
  EXPECT_THAT(seconds, testing::ElementsAre(60, 300, 0, 1, 10));
}

TEST(LiveView, SmallTerminal_KeepsTheKeysInTheLastLine) {
  LiveView view(0, 0, "x", false);
  const auto lines = view.Render(TwoProcesses(), 80, 5);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(PlainText({lines.back()}), HasSubstr("[q]uit"));
}

TEST(LiveView, KeyQ_Leaves) {
  LiveView view(0, 0, "x", false);
  EXPECT_TRUE(view.HandleKey('x'));
  EXPECT_FALSE(view.HandleKey('q'));
}

TEST(LiveView, EmptyReport_SaysWhereItLooked) {
  LiveView view(0, 0, "collector at 127.0.0.1:9", false);
  EXPECT_THAT(Text(view, BudgetReport{}), HasSubstr("collector at 127.0.0.1:9"));
}

}  // namespace
}  // namespace stallscope::tui
