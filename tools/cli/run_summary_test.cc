#include "tools/cli/run_summary.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

ProcessReport Decoding() {
  ProcessReport process;
  process.pid = 7, process.process_name = "engine";
  process.steps = 3, process.tokens = 12, process.tokens_source = "marker", process.segmentation_method = "marker";
  process.wall_ns = 3'000'001;
  process.lines[static_cast<int>(Line::kGpuGemm)].ns = 2'000'001;
  process.lines[static_cast<int>(Line::kHostCpu)].ns = 1'000'000;
  process.syncs = {{"cudaDeviceSynchronize", 3, 2'500'000, 600'000, 700'000, 0}};
  return process;
}

std::string Summary(const BudgetReport& report, const CollectorTotals& totals = {}, const RunFacts& facts = {}) {
  return RunSummary(report, totals, facts, 80, false);
}

TEST(RunSummary, DecodingProcess_SaysStepsTokensSumAndOverWait) {
  BudgetReport report;
  report.processes = {Decoding()};
  const std::string text = Summary(report);
  EXPECT_THAT(text, HasSubstr("steps      3, 1,000.0 us each\n"));
  EXPECT_THAT(text, HasSubstr("tokens     12, 250.0 us each (marker)\n"));
  EXPECT_THAT(text, HasSubstr("adds up    3,000,001 ns in lines, 3,000,001 ns of wall time\n"));
  EXPECT_THAT(text, HasSubstr("over-wait  600 us in 3 blocking calls, 200.0 us a step; idle inside them 700 us\n"));
}

TEST(RunSummary, ManyProcesses_TheBusiestInFullAndTheRestCounted) {
  BudgetReport report;
  for (uint32_t i = 0; i < 60; ++i) {
    report.processes.push_back(Decoding());
    report.processes.back().pid = 1000 + i;
  }
  report.processes[40].tokens = 999;
  RunFacts facts;
  facts.capture_path = "a.stallcap";
  const std::string text = Summary(report, {}, facts);
  EXPECT_THAT(text, HasSubstr("tokens     999"));
  EXPECT_THAT(text, HasSubstr("... and 36 more processes: stallscope budget a.stallcap\n"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 120);
}

TEST(RunSummary, WaitsWithinTheClockError_AreSaidBesideTheOverWait) {
  BudgetReport report;
  report.processes = {Decoding()};
  report.processes[0].syncs[0].within_clock_error_ns = 3'100'000;
  EXPECT_THAT(Summary(report), HasSubstr("idle inside them 700 us; within clock error, not counted: 3.10 ms\n"));
}

TEST(RunSummary, SumThatDiffers_IsNotHidden) {
  BudgetReport report;
  report.processes = {Decoding()};
  report.processes[0].wall_ns += 1;
  EXPECT_THAT(Summary(report), HasSubstr("DOES NOT ADD UP"));
}

TEST(RunSummary, HelpersBesideADecodingProcess_GetOneLine) {
  BudgetReport report;
  report.processes = {ProcessReport{}, Decoding()};
  report.processes[0].pid = 6, report.processes[0].process_name = "sh";
  report.processes[0].segmentation_why = "no kernel was seen";
  const std::string text = Summary(report);
  EXPECT_THAT(text, HasSubstr("sh 6: no step yet (no kernel was seen)"));
  EXPECT_THAT(text, Not(HasSubstr("No step found")));
}

TEST(RunSummary, NoProcess_SaysWhyThatMayBe) { EXPECT_THAT(Summary({}), HasSubstr("No process was recorded")); }

TEST(RunSummary, FullDisk_StandsWhereTheCaptureWould) {
  CollectorTotals totals;
  totals.capture_status = absl::ResourceExhaustedError("capture x.stallcap stopped at 16 bytes: no space");
  RunFacts facts;
  facts.capture_path = "x.stallcap";
  const std::string text = Summary({}, totals, facts);
  EXPECT_THAT(text, HasSubstr("INCOMPLETE capture x.stallcap stopped at 16 bytes"));
  EXPECT_THAT(text, Not(HasSubstr("stallscope report")));
}

TEST(RunSummary, SimulatedGpuThatNobodyUsed_IsSaid) {
  RunFacts facts;
  facts.simulated_gpu = true;
  EXPECT_THAT(Summary({}, {}, facts), HasSubstr("simulated GPU was asked for and no process used it"));
}

}  // namespace
}  // namespace stallscope::cli
