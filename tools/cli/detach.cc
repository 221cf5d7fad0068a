// stallscope detach: end the recording of a process, which goes on as if nothing had been.
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/attach/injection.h"
#include "tools/attach/target_process.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"

namespace stallscope::cli {
namespace {

struct DetachOptions {
  int pid = 0;
  double wait_s = 5;
  bool json = false;
};

int DetachFrom(const DetachOptions& options) {
  const absl::StatusOr<attach::TargetProcess> target =
      attach::InspectProcess("", options.pid, attach::Asker::OfThisProcess());
  if (!target.ok()) return Fail(target.status());
  const absl::StatusOr<attach::Injection> injection = attach::Detach(*target, absl::Seconds(options.wait_s));
  if (!injection.ok()) return Fail(injection.status());
  const int64_t stopped_ns = absl::ToInt64Nanoseconds(injection->stopped);
  if (options.json) {
    const nlohmann::ordered_json document = {{"schema", "stallscope.detach/1"},
                                             {"pid", target->pid},
                                             {"comm", target->name},
                                             {"slots_given_back", injection->answer.slots},
                                             {"stopped_ns", stopped_ns}};
    std::cout << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  } else {
    std::cout << absl::StrFormat("%d (%s) is not recorded any more: %d call slots are as they were\n", target->pid,
                                 target->name, injection->answer.slots);
  }
  return kDone;
}

}  // namespace

void AddDetachCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<DetachOptions>();
  CLI::App* command = program.add_subcommand("detach", "How does this process run on without being recorded?");
  command->add_option("PID", options->pid, "the process")->required()->check(CLI::Range(1, 1 << 22));
  command->add_option("--wait", options->wait_s, "how long to look for a thread that stands at a safe place")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "a document of schema stallscope.detach/1");
  command->footer(
      "The call slots are given back, CUPTI is left, the last records are sent. The library stays in memory, unused;\n"
      "stallscope attach records the process again.\n\n"
      "Example:\n  stallscope detach $(pgrep -f EngineCore)");
  command->callback([options, exit_code] { *exit_code = DetachFrom(*options); });
}

}  // namespace stallscope::cli
