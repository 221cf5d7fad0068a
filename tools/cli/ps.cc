// stallscope ps: the processes that a collector knows.
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/live_source.h"
#include "tools/tui/number_text.h"

namespace stallscope::cli {
namespace {

struct PsOptions {
  std::string socket, http;
  bool json = false;
};

std::string GpuText(const ProcessReport& process) {
  if (process.simulated_gpu) return "simulated GPU";
  return process.gpu.empty() ? "-" : process.gpu;
}

std::string Table(const BudgetReport& report) {
  std::string text = absl::StrFormat("%8s  %-16s %-16s %-8s %10s %10s %12s %8s\n", "PID", "NAME", "GPU", "LEVEL",
                                     "STEPS", "TOKENS", "EVENTS", "LOST");
  for (const ProcessReport& process : report.processes) {
    absl::StrAppend(&text, absl::StrFormat("%8d  %s %s %-8s %10s %10s %12s %8s\n", process.pid,
                                           tui::Padded(process.process_name, 16), tui::Padded(GpuText(process), 16),
                                           process.agent_level, tui::Grouped(static_cast<int64_t>(process.steps)),
                                           tui::Grouped(static_cast<int64_t>(process.tokens)),
                                           tui::Grouped(static_cast<int64_t>(process.health.events)),
                                           tui::Grouped(static_cast<int64_t>(process.health.dropped))));
  }
  return text;
}

std::string Json(const BudgetReport& report) {
  nlohmann::ordered_json document = {{"schema", "stallscope.ps/1"}, {"processes", nlohmann::ordered_json::array()}};
  for (const ProcessReport& process : report.processes) {
    document["processes"].push_back({{"pid", process.pid},
                                     {"comm", process.process_name},
                                     {"gpu", process.gpu},
                                     {"simulated_gpu", process.simulated_gpu},
                                     {"level", process.agent_level},
                                     {"steps", process.steps},
                                     {"tokens", process.tokens},
                                     {"events", process.health.events},
                                     {"dropped", process.health.dropped}});
  }
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int Ps(const PsOptions& options) {
  absl::StatusOr<std::string> address = FindHttpAddress(options.http, options.socket);
  if (!address.ok()) return Fail(address.status());
  absl::StatusOr<BudgetReport> report = FetchBudget(*address, 0);
  if (!report.ok()) return Fail(report.status());
  if (options.json) {
    std::cout << Json(*report);
  } else if (report->processes.empty()) {
    std::cout << "no process is connected to the collector at " << *address
              << ". Start one: stallscope run -- COMMAND\n";
  } else {
    std::cout << Table(*report);
  }
  return kDone;
}

}  // namespace

void AddPsCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<PsOptions>();
  CLI::App* command = program.add_subcommand("ps", "Which processes are recorded, and how completely?");
  command->add_flag("--json", options->json, "a document of schema stallscope.ps/1");
  auto* socket = command->add_option("--collector", options->socket,
                                     "socket of the collector to ask (default: yours, else the newest)");
  command->add_option("--http", options->http, "HTTP address of the collector to ask")->excludes(socket);
  command->footer("Example:\n  stallscope ps --json | jq '.processes[].pid'");
  command->callback([options, exit_code] { *exit_code = Ps(*options); });
}

}  // namespace stallscope::cli
