// decode_workload on the simulated GPU: what it says it did is what the simulator saw.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::json;

struct Outcome {
  json counts;
  std::vector<json> truth;

  size_t Count(const std::string& key, const std::string& value) const {
    size_t count = 0;
    for (const json& line : truth) count += line.value(key, "") == value;
    return count;
  }
};

Outcome RunWorkload(const std::string& arguments) {
  const std::string build = std::getenv("STALLSCOPE_BUILD");
  const std::string truth_path = testing::TempDir() + "decode_workload_truth.jsonl";
  const std::string command = "LD_LIBRARY_PATH=" + build + "/lib/simgpu SIMGPU_TRUTH=" + truth_path + " " + build +
                              "/bin/decode_workload --json " + arguments;
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "re");
  char line[4096] = {};
  if (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) outcome.counts = json::parse(line);
  EXPECT_EQ(pclose(pipe), 0) << command;
  std::ifstream truth(truth_path);
  for (std::string text; std::getline(truth, text);) outcome.truth.push_back(json::parse(text));
  std::remove(truth_path.c_str());
  return outcome;
}

TEST(DecodeWorkload, GraphMode_LaunchesOneGraphAStep) {
  const Outcome outcome = RunWorkload("--sequences 4 --steps 30 --layers 2");
  EXPECT_EQ(outcome.counts["steps"], 30);
  EXPECT_EQ(outcome.counts["tokens"], 120);
  EXPECT_EQ(outcome.Count("op", "graph"), 30u);
  EXPECT_EQ(outcome.Count("op", "kernel"), 30u * (2 * 5 + 1));
  EXPECT_EQ(outcome.Count("op", "copy"), 60u);
  EXPECT_EQ(outcome.Count("wait", "event"), 30u);
}

TEST(DecodeWorkload, EagerModeWithDeviceSync_LaunchesKernelsAndWaitsForTheDevice) {
  const Outcome outcome = RunWorkload("--sequences 2 --steps 10 --layers 3 --eager --device-sync");
  EXPECT_EQ(outcome.counts["mode"], "eager");
  EXPECT_EQ(outcome.Count("op", "graph"), 0u);
  EXPECT_EQ(outcome.Count("op", "kernel"), 10u * (3 * 5 + 1));
  EXPECT_GE(outcome.Count("wait", "context"), 10u);
}

TEST(DecodeWorkload, PageableFault_BlocksInTheCopy) {
  EXPECT_EQ(RunWorkload("--steps 10 --layers 1").Count("wait", "copy"), 0u);
  EXPECT_EQ(RunWorkload("--steps 10 --layers 1 --pageable").Count("wait", "copy"), 10u);
}

TEST(DecodeWorkload, WaitsEndNoEarlierThanTheirWork) {
  const Outcome outcome = RunWorkload("--steps 20 --layers 2");
  for (const json& line : outcome.truth) {
    if (line.contains("wait")) {
      EXPECT_GE(line["end_ns"], line["ready_ns"]);
    }
  }
}

}  // namespace
