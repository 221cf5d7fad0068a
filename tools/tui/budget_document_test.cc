#include "tools/tui/budget_document.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::tui {
namespace {

using testing::HasSubstr;

TEST(ParseBudgetDocument, DocumentOfTheSchema_ReadsBack) {
  auto report =
      ParseBudgetDocument(R"({"schema":"stallscope.budget/1","simulated_gpu":true,"window":{"begin_ns":5,"end_ns":9},
    "later_member":[1],"processes":[{"pid":7,"comm":"engine","gpu":"simulated GPU","steps":2,"tokens":4,"tokens_source":"marker",
    "segmentation":{"method":"marker","confidence":1.0},"wall_ns":4000,
    "lines":{"gpu.gemm":{"ns":3000,"hidden_ns":0,"per_step_us":1.5,"per_token_us":0.75,"share":0.75},
             "host.cpu":{"ns":1000,"hidden_ns":20,"note":"MainThread"}},
    "itl_us":{"p50":2.0,"p90":2.5,"p99":3,"max":3},
    "syncs":[{"name":"cudaDeviceSynchronize","calls":2,"total_ns":10,"over_wait_ns":3,"idle_inside_ns":4,"unneeded_ns":1}],
    "health":{"events":100,"dropped":1,"late":2,"clamped":3,"unmatched":4,"causes":{"ring_lost":1,"gpu_late":0}},
    "agent":{"level":"budget","cost_share":0.004,"governor":{"asked_level":"kernels","less_than_asked":true,"why":"dear",
             "cost_share":0.009,"limit_share":0.01,"node_window":true,"callback_ns":null}},
    "clock":{"gpu_uncertainty_ns":250},"batch":{"source":"SGLang","batches":3,"decoding_requests":8.5}}]})");
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->processes.size(), 1u);
  const ProcessReport& process = report->processes[0];
  EXPECT_EQ(report->end, 9);
  EXPECT_TRUE(process.simulated_gpu);
  EXPECT_EQ(process.tokens, 4u);
  EXPECT_EQ(process.lines[static_cast<int>(Line::kGpuGemm)].ns, 3000);
  EXPECT_EQ(process.lines[static_cast<int>(Line::kHostCpu)].note, "MainThread");
  EXPECT_EQ(process.itl_p90_ns, 2500);
  EXPECT_EQ(process.syncs.at(0).over_wait_ns, 3);
  EXPECT_EQ(process.health.unmatched, 4u);
  ASSERT_EQ(process.health_causes.size(), 2u);
  EXPECT_TRUE(process.governor.known && process.governor.less_than_asked && process.governor.node_window);
  EXPECT_EQ(process.governor.why, "dear");
  EXPECT_DOUBLE_EQ(process.governor.limit_share, 0.01);
  EXPECT_EQ(process.gpu_clock_uncertainty_ns, 250);
  EXPECT_EQ(process.batch.source, "SGLang");
  EXPECT_DOUBLE_EQ(process.batch.decoding_requests, 8.5);
}

TEST(ParseBudgetDocument, ForeignAnswers_AreRefusedWithOneLine) {
  for (const char* text : {"", "<html>", "[]", "{\"schema\":\"other/1\"}", "{\"schema\":7}"}) {
    auto report = ParseBudgetDocument(text);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(report.status().message()), HasSubstr("stallscope.budget/1"));
  }
}

TEST(ParseBudgetDocument, UnknownLine_IsRefusedByName) {
  auto report =
      ParseBudgetDocument(R"({"schema":"stallscope.budget/1","processes":[{"lines":{"gpu.magic":{"ns":1}}}]})");
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("gpu.magic"));
}

TEST(ParseBudgetDocument, WrongTypes_ReadAsAbsent) {
  auto report = ParseBudgetDocument(
      R"({"schema":"stallscope.budget/1","window":3,"processes":[{"pid":"x","steps":1.5,"lines":{"host.cpu":4},"syncs":7,"itl_us":[]}]})");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->processes.at(0).steps, 0u);
}

}  // namespace
}  // namespace stallscope::tui
