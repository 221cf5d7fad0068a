#include "collector/serve/budget_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stallscope {
namespace {

using Json = nlohmann::json;

BudgetReport OneProcess() {
  BudgetReport report;
  report.begin = 1;
  report.end = 10'000'000'001;
  ProcessReport& process = report.processes.emplace_back();
  process.pid = 41822;
  process.process_name = "EngineCore";
  process.gpu = "simulated GPU";
  process.simulated_gpu = true;
  process.steps = 2;
  process.tokens = 4;
  process.wall_ns = 9'007'199'254'740'993;  // past what a double holds exactly
  process.lines[static_cast<int>(Line::kGpuGemm)].ns = 9'007'199'254'740'992;
  process.lines[static_cast<int>(Line::kHostCpu)] = {1, 7, "MainThread"};
  process.lines[static_cast<int>(Line::kHostLock)].hidden_ns = 5;
  process.itl_p50_ns = 16'400'000;
  process.syncs.push_back({"cudaDeviceSynchronize", 3, 100, 50, 40, 30});
  process.blocked.push_back({7, "Sampler", "pthread_mutex_lock", 0xffff800000000000, 2'310'000'000});
  process.notices.push_back("CUPTI is held by nsys");
  return report;
}

TEST(BudgetReportToJson, EveryFieldOfTheSchema_IsThereWithItsType) {
  const Json json = Json::parse(BudgetReportToJson(OneProcess()));
  EXPECT_EQ(json["schema"], "stallscope.budget/1");
  EXPECT_EQ(json["simulated_gpu"], true);
  EXPECT_EQ(json["window"]["end_ns"], 10'000'000'001);
  const Json& process = json["processes"][0];
  EXPECT_EQ(process["pid"], 41822);
  EXPECT_EQ(process["comm"], "EngineCore");
  EXPECT_EQ(process["steps"], 2);
  EXPECT_TRUE(process["segmentation"].contains("method"));
  EXPECT_TRUE(process["segmentation"].contains("confidence"));
  EXPECT_DOUBLE_EQ(process["itl_us"]["p50"], 16'400);
  EXPECT_EQ(process["syncs"][0]["over_wait_ns"], 50);
  for (const char* field : {"events", "dropped", "late", "clamped", "unmatched"}) {
    EXPECT_TRUE(process["health"][field].is_number_integer()) << field;
  }
  EXPECT_TRUE(process["agent"].contains("level"));
  EXPECT_TRUE(process["agent"].contains("cost_share"));
  EXPECT_TRUE(process["agent"]["governor"].is_null());
  EXPECT_TRUE(process["clock"]["gpu_uncertainty_ns"].is_null());
  EXPECT_TRUE(process["batch"].is_null());
  EXPECT_TRUE(process["health"]["causes"].is_object());
  EXPECT_EQ(process["blocked"][0]["object"], 0xffff800000000000);
  EXPECT_EQ(process["notices"][0], "CUPTI is held by nsys");
}

TEST(BudgetReportToJson, AgentsOwnAccount_NamesEachCauseAndTheGovernorsReason) {
  BudgetReport report = OneProcess();
  ProcessReport& process = report.processes[0];
  process.health_causes = {{"gpu_zero_time", "", 3}, {"gpu_late", "", 0}};
  process.governor = {
      true, "nodes", "level nodes was asked for and cost more than the limit of 1.0 %", true, false, 0.004, 0.01, 180};
  process.batch = {"vLLM", 20, 31.5, 0.5, 32, 256};
  process.gpu_clock_uncertainty_ns = 420;
  const Json json = Json::parse(BudgetReportToJson(report))["processes"][0];
  EXPECT_EQ(json["health"]["causes"], Json({{"gpu_zero_time", 3}, {"gpu_late", 0}}));
  EXPECT_EQ(json["agent"]["governor"]["asked_level"], "nodes");
  EXPECT_EQ(json["agent"]["governor"]["less_than_asked"], true);
  EXPECT_DOUBLE_EQ(json["agent"]["governor"]["limit_share"].get<double>(), 0.01);
  EXPECT_EQ(json["agent"]["governor"]["callback_ns"], 180);
  EXPECT_EQ(json["clock"]["gpu_uncertainty_ns"], 420);
  EXPECT_EQ(json["batch"]["source"], "vLLM");
  EXPECT_DOUBLE_EQ(json["batch"]["decoding_requests"].get<double>(), 31.5);
}

TEST(BudgetReportToJson, LinesWithTimeOnly_AddUpToTheWallExactly) {
  const Json json = Json::parse(BudgetReportToJson(OneProcess()));
  const Json& process = json["processes"][0];
  ASSERT_EQ(process["lines"].size(), 3u);
  int64_t sum = 0;
  for (const auto& line : process["lines"]) {
    ASSERT_TRUE(line["ns"].is_number_integer());
    sum += line["ns"].get<int64_t>();
  }
  EXPECT_EQ(sum, process["wall_ns"].get<int64_t>());
  EXPECT_EQ(process["lines"]["host.cpu"]["hidden_ns"], 7);
  EXPECT_EQ(process["lines"]["host.cpu"]["note"], "MainThread");
  EXPECT_EQ(process["lines"]["host.lock"]["ns"], 0);
  EXPECT_DOUBLE_EQ(process["lines"]["host.cpu"]["per_step_us"], 0.0005);
  EXPECT_DOUBLE_EQ(process["lines"]["host.cpu"]["per_token_us"], 0.00025);
}

TEST(BudgetReportToJson, WithoutSteps_SaysNullInsteadOfZero) {
  BudgetReport report = OneProcess();
  report.processes[0].steps = report.processes[0].tokens = 0;
  const Json process = Json::parse(BudgetReportToJson(report))["processes"][0];
  EXPECT_TRUE(process["itl_us"]["p50"].is_null());
  EXPECT_TRUE(process["lines"]["host.cpu"]["per_step_us"].is_null());
}

TEST(BudgetReportToJson, NameThatIsNotUtf8_StaysValidJson) {
  BudgetReport report = OneProcess();
  report.processes[0].process_name = "worker \xe3\x81";
  const Json json = Json::parse(BudgetReportToJson(report), nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded());
}

TEST(BudgetReportToJson, NoProcess_IsAnEmptyList) {
  const Json json = Json::parse(BudgetReportToJson({}, 2));
  EXPECT_EQ(json["processes"], Json::array());
  EXPECT_EQ(json["simulated_gpu"], false);
}

}  // namespace
}  // namespace stallscope
