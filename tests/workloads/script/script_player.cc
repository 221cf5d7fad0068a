// script_player: plays a workload script (docs/workload-scripts.md) on the simulated GPU, or only checks it.
//
// Output: one JSON line on stdout: with --check what the script contains (summarize_script.h), else what was done.
// Exit codes: 0 done, 1 CUDA refused something, 2 the script is malformed or impossible, 3 it cannot be played here or
// every thread waits for another.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/workloads/script/parse_script.h"
#include "tests/workloads/script/player.h"
#include "tests/workloads/script/summarize_script.h"

namespace workloads::script {
namespace {

constexpr int kMalformed = 2, kNotPlayed = 3;

// Before the first CUDA call: the simulator reads its configuration there.
void AskForDevices(const Script& script) {
  uint32_t devices = 1;
  for (const Stream& stream : script.streams) devices = std::max(devices, stream.device + 1);
  if (devices > 1) setenv("SIMGPU_DEVICES", std::to_string(devices).c_str(), 0);
}

nlohmann::json Describe(const Script& script, const PlayOptions& options, const PlayCounts& counts) {
  return {{"script", script.file_name},
          {"gpu", "simulated GPU"},
          {"clock", options.own_clock ? "own" : "monotonic"},
          {"begins", options.given_begins ? "given" : "free"},
          {"threads", script.threads.size()},
          {"kernels", counts.kernels},
          {"copies", counts.copies},
          {"fills", counts.fills},
          {"graph_launches", counts.graph_launches},
          {"waits", counts.waits},
          {"steps", counts.steps},
          {"tokens", counts.tokens},
          {"calls_as_host_time", counts.calls_as_host_time},
          {"seconds", counts.seconds}};
}

int Main(int argc, char** argv) {
  CLI::App app("Plays a workload script on the simulated GPU.");
  std::string path, clock = "monotonic", begins = "given", error;
  PlayOptions options;
  bool check = false;
  app.add_option("SCRIPT", path, "The script; docs/workload-scripts.md defines it")->required();
  app.add_flag("--check", check, "Do not play: say whether the script is sound, and what it contains");
  app.add_option("--clock", clock,
                 "monotonic: host time really passes. own: each thread's time is only what script and "
                 "simulator say, so that a loaded machine changes nothing")
      ->check(CLI::IsMember({"monotonic", "own"}));
  app.add_option("--begins", begins, "given: work begins at its at=, if it can. free: when the simulator lets it")
      ->check(CLI::IsMember({"given", "free"}));
  app.add_option("--scale", options.scale, "Multiply every time of the script")->check(CLI::Range(1e-6, 1e6));
  app.add_flag("--fast", options.fast,
               "On a clock of its own, without waiting for the real one to catch up (a tracer "
               "then gets records of the future)");
  CLI11_PARSE(app, argc, argv);
  options.own_clock = clock == "own" || options.fast;
  options.given_begins = begins == "given";

  const std::optional<Script> script = ReadScript(path, &error);
  if (!script) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return kMalformed;
  }
  if (check) {
    std::printf("%s\n",
                SummarizeScript(*script).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return 0;
  }
  AskForDevices(*script);
  const std::optional<PlayCounts> counts = Play(*script, options, &error);
  if (!counts) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.c_str());
    std::fflush(nullptr);
    std::_Exit(kNotPlayed);  // the threads that wait for each other are still there
  }
  std::printf("%s\n", Describe(*script, options, *counts).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace workloads::script

int main(int argc, char** argv) { return workloads::script::Main(argc, argv); }
