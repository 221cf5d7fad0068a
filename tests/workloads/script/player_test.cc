// script_player on the simulated GPU: what it says it did is what the simulator saw, at the times that the script gives.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Outcome {
  int exit_code = 0;
  std::string output;
  json counts;
  std::vector<json> truth;

  std::vector<json> Operations(const std::string& kind) const {
    std::vector<json> found;
    for (const json& line : truth) {
      if (line.value("op", "") == kind) found.push_back(line);
    }
    return found;
  }
  uint64_t DurationNs(const json& line) const {
    return line["end_ns"].get<uint64_t>() - line["begin_ns"].get<uint64_t>();
  }
};

std::string ExampleScript() {
  return std::string(std::getenv("STALLSCOPE_SOURCE")) + "/tests/workloads/script/example.script";
}

Outcome PlayFile(const std::string& path, const std::string& options) {
  const std::string build = std::getenv("STALLSCOPE_BUILD");
  const std::string truth_path = testing::TempDir() + "script_player_truth.jsonl";
  std::remove(truth_path.c_str());
  const std::string command = "LD_LIBRARY_PATH=" + build + "/lib/simgpu SIMGPU_TRUTH=" + truth_path + " " + build +
                              "/bin/script_player " + path + " " + options + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "re");
  for (char line[4096]; pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr;) outcome.output += line;
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.counts = json::parse(outcome.output, nullptr, false);
  std::ifstream truth(truth_path);
  for (std::string text; std::getline(truth, text);) outcome.truth.push_back(json::parse(text));
  std::remove(truth_path.c_str());
  return outcome;
}

Outcome PlayText(const std::string& text, const std::string& options) {
  const std::string path = testing::TempDir() + "script_player_test.script";
  std::ofstream(path) << "stallscope-script 1\n" << text;
  Outcome outcome = PlayFile(path, options);
  std::remove(path.c_str());
  return outcome;
}

TEST(ScriptPlayer, Example_DoesWhatItSays) {
  const Outcome outcome = PlayFile(ExampleScript(), "");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.counts["gpu"], "simulated GPU");
  EXPECT_EQ(outcome.counts["kernels"], 80);
  EXPECT_EQ(outcome.counts["tokens"], 160);
  EXPECT_EQ(outcome.Operations("kernel").size(), 80u);
  EXPECT_EQ(outcome.Operations("copy").size(), 41u);
  EXPECT_EQ(outcome.Operations("fill").size(), 20u);
  EXPECT_EQ(outcome.Operations("graph").size(), 20u);
}

TEST(ScriptPlayer, Durations_AreThoseOfTheScript) {
  const Outcome outcome = PlayText(
      "stream a\nthread t\nlaunch a 1.234us \"k\"\ncopy a h2d 1000000 77us\nfill a 64 5us\nsync stream a\nend\n", "");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.DurationNs(outcome.Operations("kernel").at(0)), 1234u);
  EXPECT_EQ(outcome.Operations("kernel").at(0)["name"], "k");
  EXPECT_EQ(outcome.DurationNs(outcome.Operations("copy").at(0)), 77'000u);
  EXPECT_EQ(outcome.DurationNs(outcome.Operations("fill").at(0)), 5000u);
}

TEST(ScriptPlayer, Scale_MultipliesTimes) {
  const Outcome outcome = PlayText("stream a\nthread t\nlaunch a 2us \"k\"\nend\n", "--scale 3.5");
  EXPECT_EQ(outcome.DurationNs(outcome.Operations("kernel").at(0)), 7000u);
}

// On a clock of its own a run is the same to the nanosecond whatever else the machine does.
TEST(ScriptPlayer, OwnClock_GivenBeginsAreKept) {
  const Outcome outcome = PlayText(
      "stream a\nstream b nonblocking\nqueue q\ngraph g\nkernel 4us \"n\" at=1us\nkernel 4us \"n\" at=2us "
      "branch=1\nend\n"
      "thread t\nlaunch a 5us \"k\" at=10us\nlaunch a 5us \"k\" at=15us\nsync stream a\nput q\nend\n"
      "thread u\ntake q\ngraph b g at=100us\nsync device\nend\n",
      "--clock own");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const std::vector<json> kernels = outcome.Operations("kernel");
  ASSERT_EQ(kernels.size(), 4u);
  const auto begin_ns = [&](size_t i) { return kernels[i]["begin_ns"].get<uint64_t>(); };
  EXPECT_EQ(begin_ns(1) - begin_ns(0), 5000u);
  EXPECT_EQ(begin_ns(2) - begin_ns(0), 100'000u + 1000 - 10'000);
  EXPECT_EQ(begin_ns(3) - begin_ns(2), 1000u);
}

TEST(ScriptPlayer, OwnClock_WaitsAndBackPressureComeFromTheSimulation) {
  // The launch is ready 10 us after the kernel's end: sync (1.5 us to wake) and work come between.
  const Outcome free =
      PlayText("stream a\nthread t\nlaunch a 50us \"k\"\nsync stream a\nwork 8.5us\nlaunch a 5us \"k\" at=1ms\nend\n",
               "--clock own --begins free");
  const std::vector<json> kernels = free.Operations("kernel");
  ASSERT_EQ(kernels.size(), 2u) << free.output;
  EXPECT_EQ(kernels[1]["begin_ns"].get<uint64_t>() - kernels[0]["end_ns"].get<uint64_t>(), 10'000u + 3000);
  // 1,025 kernels do not fit into a queue of 1,024: the launch of the last waits for the end of the first, the thread's
  // work for nothing.
  const Outcome full = PlayText("stream a\nthread t\nrepeat 1025\nlaunch a 1ms \"k\"\nend\nend\n", "--fast");
  EXPECT_NEAR(full.counts["seconds"].get<double>(), 1024 * 2e-6 - 2e-6 + 1e-3, 1e-3) << full.output;
  EXPECT_GE(full.counts["seconds"].get<double>(), 1e-3);
}

TEST(ScriptPlayer, OwnClock_CallsLastAsLongAsGiven) {
  // 4 + 90 + 6: the wait is over at 14 us, and returns late.
  const Outcome outcome = PlayText(
      "stream a\nthread t\nlaunch a 10us \"k\" for=4us at=4us\nsync stream a for=90us\nalloc device 64 for=6us\nend\n",
      "--clock own");
  EXPECT_DOUBLE_EQ(outcome.counts["seconds"].get<double>(), 100e-6) << outcome.output;
}

TEST(ScriptPlayer, OwnClock_QueueHandsTimeOver) {
  const Outcome outcome = PlayText(
      "stream a nonblocking\nstream b nonblocking\nqueue q\n"
      "thread t\nlaunch a 1us \"first\"\nwork 30us\nput q\nend\nthread u\ntake q\nlaunch b 1us \"second\"\nend\n",
      "--clock own");
  const std::vector<json> kernels = outcome.Operations("kernel");
  ASSERT_EQ(kernels.size(), 2u) << outcome.output;
  EXPECT_EQ(kernels[1]["begin_ns"].get<uint64_t>() - kernels[0]["begin_ns"].get<uint64_t>(), 32'000u);
}

TEST(ScriptPlayer, OwnClock_TwoPlaysAreTheSame) {
  // Threads share a stream, a mutex and the whole device; who comes first is a matter of their time alone.
  const auto thread = [](const std::string& name, const std::string& work_us) {
    return "thread " + name + "\nrepeat 40\nlock m\nwork " + work_us + "us\nlaunch a 3us \"" + name +
           "\"\nunlock m\nput q\nlaunch b 5us \"" + name + "\"\nsync device\nend\nend\n";
  };
  const std::string script = "stream a\nstream b nonblocking\nmutex m\nqueue q capacity=3\n" + thread("t", "7") +
                             thread("u", "4.3") + thread("v", "11") +
                             "thread w\nrepeat 120\ntake q\nwork 2us\nend\nend\n";
  std::vector<std::vector<std::string>> plays;
  for (int play = 0; play < 3; ++play) {
    const Outcome outcome = PlayText(script, "--fast");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    std::vector<std::string> begins;
    uint64_t first_ns = 0;
    for (const json& kernel : outcome.Operations("kernel")) {
      const uint64_t begin_ns = kernel["begin_ns"];
      if (first_ns == 0) first_ns = begin_ns;
      begins.push_back(kernel["name"].get<std::string>() + " " + std::to_string(begin_ns - first_ns));
    }
    plays.push_back(begins);
  }
  EXPECT_EQ(plays[0].size(), 240u);
  EXPECT_EQ(plays[0], plays[1]);
  EXPECT_EQ(plays[0], plays[2]);
}

TEST(ScriptPlayer, SeveralDevices_AreAskedFor) {
  const Outcome outcome = PlayText(
      "stream a device=1 nonblocking\nthread t\nlaunch a 1us \"k\"\ncopy a p2p 4096 2us\nsync device a\nend\n", "");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(outcome.Operations("kernel").size(), 1u);
  EXPECT_EQ(outcome.Operations("copy").size(), 1u);
}

TEST(ScriptPlayer, MalformedScript_EndsWith2) {
  const Outcome outcome = PlayText("thread t\nwork 5\nend\n", "");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.output, HasSubstr(".script:3:6: expected a time such as 12.5us"));
  EXPECT_EQ(PlayFile("/no/such.script", "").exit_code, 2);
}

TEST(ScriptPlayer, ThreadsThatWaitForEachOther_EndWith3) {
  const Outcome outcome =
      PlayText("queue p\nqueue q\nthread t\ntake p\nput q\nend\nthread u\ntake q\nput p\nend\n", "");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("every thread waits for another: t in line 5 u in line 9"));
}

}  // namespace
