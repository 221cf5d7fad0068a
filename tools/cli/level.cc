// stallscope level: how much of a process is recorded, from now on.
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/main/collector.h"
#include "tools/cli/commands.h"
#include "tools/cli/control_request.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/level_option.h"

namespace stallscope::cli {
namespace {

struct LevelOptions {
  int pid = 0;
  std::string level, collector;
  double cost_limit_percent = 0;
  bool json = false;
};

// What a recording can begin with, and nothing at all.
std::vector<std::string> LevelsAndOff() {
  std::vector<std::string> names = LevelNames();
  names.push_back("off");
  return names;
}

int SetLevelOf(const LevelOptions& options) {
  v1::Control control;
  control.set_pid(static_cast<uint32_t>(options.pid));
  const AskedLevel wanted = LevelOf(options.level);
  control.set_level(static_cast<uint32_t>(wanted.level));
  control.set_stacks(wanted.stacks);
  if (options.cost_limit_percent > 0) {
    control.set_cost_limit_ppm(static_cast<uint32_t>(options.cost_limit_percent * 10'000 + 0.5));
  }
  const std::string socket = options.collector.empty() ? DefaultSocketPath() : options.collector;
  const absl::Status asked = AskCollector(socket, control);
  if (!asked.ok()) {
    return Fail(absl::UnavailableError(
        absl::StrCat(std::string(asked.message()), "; stallscope ps says which processes a collector records")));
  }
  if (options.json) {
    std::cout << nlohmann::ordered_json{{"schema", "stallscope.level/1"},
                                        {"pid", options.pid},
                                        {"level", options.level}}
                     .dump(1)
              << std::endl;
  } else {
    std::cout << absl::StrFormat("%d was told by its collector: level %s from now on\n", options.pid, options.level);
    std::cout.flush();
  }
  return kDone;
}

}  // namespace

void AddLevelCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<LevelOptions>();
  CLI::App* command = program.add_subcommand("level", "How can more of this process be seen for a while, or less?");
  command->add_option("PID", options->pid, "the process")->required()->check(CLI::Range(1, 1 << 22));
  command
      ->add_option("LEVEL", options->level,
                   "off, budget (what run begins with), kernels (each kernel and copy), nodes (each node of each graph "
                   "replay), or stacks (budget, with stacks of calls of 0.1 ms and more)")
      ->required()
      ->check(CLI::IsMember(LevelsAndOff()));
  command
      ->add_option(
          "--cost-limit", options->cost_limit_percent,
          "what the agent may cost, of the process's time, before the governor lowers detail (default: as it is)")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.01, 100.0));
  command->add_option("--collector", options->collector, "socket of the collector that records it (default: yours)")
      ->type_name("SOCKET");
  command->add_flag("--json", options->json, "a document of schema stallscope.level/1");
  command->footer(
      "Nothing is restarted and no thread is stopped. The level stays until it is changed again or the process ends;\n"
      "top shows it, with its cost.\n\n"
      "Example:\n  stallscope level $(pgrep -f EngineCore) kernels; sleep 10; stallscope level $(pgrep -f EngineCore) "
      "budget");
  command->callback([options, exit_code] { *exit_code = SetLevelOf(*options); });
}

}  // namespace stallscope::cli
