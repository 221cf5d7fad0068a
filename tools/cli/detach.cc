// stallscope detach: end the recording of a process, which goes on as if nothing had been.
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/main/collector.h"
#include "tools/attach/injection.h"
#include "tools/attach/target_process.h"
#include "tools/cli/commands.h"
#include "tools/cli/control_request.h"
#include "tools/cli/exit_code.h"

namespace stallscope::cli {
namespace {

struct DetachOptions {
  int pid = 0;
  double wait_s = 5;
  std::string collector;
  bool json = false, by_collector = false;
};

void Say(const DetachOptions& options, const std::string& name, const attach::Injection* injection) {
  if (options.json) {
    nlohmann::ordered_json document = {{"schema", "stallscope.detach/1"},
                                       {"pid", options.pid},
                                       {"comm", name},
                                       {"by", injection != nullptr ? "injection" : "collector"}};
    if (injection != nullptr) {
      document["slots_given_back"] = injection->answer.slots;
      document["stopped_ns"] = absl::ToInt64Nanoseconds(injection->stopped);
    }
    std::cout << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  } else if (injection != nullptr) {
    std::cout << absl::StrFormat("%d (%s) is not recorded any more: %d call slots are as they were\n", options.pid,
                                 name, injection->answer.slots);
  } else {
    std::cout << absl::StrFormat("%d was told by its collector to end its recording\n", options.pid);
  }
  std::cout.flush();
}

absl::Status AskCollectorToDetach(const DetachOptions& options) {
  v1::Control control;
  control.set_pid(static_cast<uint32_t>(options.pid));
  control.set_detach(true);
  return AskCollector(options.collector.empty() ? DefaultSocketPath() : options.collector, control);
}

// Only where the process itself cannot be reached: the collector's word needs no right to trace it.
int ByCollector(const DetachOptions& options, const absl::Status& why_not_directly) {
  if (!AskCollectorToDetach(options).ok()) return Fail(why_not_directly);
  Say(options, "", nullptr);
  return kDone;
}

int DetachFrom(const DetachOptions& options) {
  if (options.by_collector) {
    const absl::Status asked = AskCollectorToDetach(options);
    if (!asked.ok()) {
      return Fail(absl::UnavailableError(absl::StrCat(std::string(asked.message()), ". Try stallscope detach ",
                                                      options.pid, " without --by-collector.")));
    }
    Say(options, "", nullptr);
    return kDone;
  }
  const absl::StatusOr<attach::TargetProcess> target =
      attach::InspectProcess("", options.pid, attach::Asker::OfThisProcess());
  if (absl::IsNotFound(target.status())) return Fail(target.status());
  if (!target.ok()) return ByCollector(options, target.status());
  const absl::StatusOr<attach::Injection> injection = attach::Detach(*target, absl::Seconds(options.wait_s));
  if (absl::IsUnavailable(injection.status()) || absl::IsPermissionDenied(injection.status())) {
    return ByCollector(options, injection.status());
  }
  if (!injection.ok()) return Fail(injection.status());
  Say(options, target->name, &*injection);
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
  command
      ->add_option(
          "--collector", options->collector,
          "socket of the collector that tells the process when it cannot be reached otherwise (default: yours)")
      ->type_name("SOCKET");
  command->add_flag("--by-collector", options->by_collector, "have the collector tell it; no thread is stopped");
  command->add_flag("--json", options->json, "a document of schema stallscope.detach/1");
  command->footer(
      "The call slots are given back, CUPTI is left, the last records are sent. The library stays in memory, unused;\n"
      "stallscope attach records the process again.\n\n"
      "Example:\n  stallscope detach $(pgrep -f EngineCore)");
  command->callback([options, exit_code] { *exit_code = DetachFrom(*options); });
}

}  // namespace stallscope::cli
