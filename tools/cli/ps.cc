// stallscope ps: the processes that a collector knows.
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/http_option.h"
#include "tools/cli/live_source.h"
#include "tools/tui/number_text.h"

namespace stallscope::cli {
namespace {

constexpr const char* kSchema = "stallscope.processes/1";

struct PsOptions {
  std::string socket, http;
  bool json = false;
};

using Json = nlohmann::json;

// One row of the collector's list of processes, with what its budget knows about it.
struct Row {
  uint32_t pid = 0;
  std::string name, state, gpu = "-", steps = "-", tokens = "-";
  int64_t events = 0, lost = 0;
};

absl::StatusOr<std::vector<Row>> ReadRows(const std::string& processes_document, const BudgetReport& report) {
  const Json document = Json::parse(processes_document, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.value("schema", Json()) != kSchema || !document["processes"].is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the answer is not a ", kSchema, " document. Is this a stallscope collector of this version?"));
  }
  auto number = [](const Json& json, const char* name) {
    const auto it = json.find(name);
    return it != json.end() && it->is_number_integer() ? it->get<int64_t>() : int64_t{0};
  };
  std::vector<Row> rows;
  for (const Json& json : document["processes"]) {
    if (!json.is_object()) continue;
    Row row;
    row.pid = static_cast<uint32_t>(number(json, "pid"));
    if (const auto it = json.find("comm"); it != json.end() && it->is_string()) row.name = it->get<std::string>();
    row.state = json.value("live", Json()) == true ? "live" : "ended";
    row.events = number(json, "events"), row.lost = number(json, "lost_records");
    for (const ProcessReport& process : report.processes) {
      if (process.pid != row.pid) continue;
      row.gpu = process.simulated_gpu ? "simulated GPU" : process.gpu.empty() ? "-" : process.gpu;
      row.steps = tui::Grouped(static_cast<int64_t>(process.steps));
      row.tokens = tui::Grouped(static_cast<int64_t>(process.tokens));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string Table(const std::vector<Row>& rows) {
  std::string text = absl::StrFormat("%8s  %-16s %-6s %-16s %10s %10s %14s %8s\n", "PID", "NAME", "STATE", "GPU",
                                     "STEPS", "TOKENS", "EVENTS", "LOST");
  for (const Row& row : rows) {
    absl::StrAppend(&text, absl::StrFormat("%8d  %s %-6s %s %10s %10s %14s %8s\n", row.pid, tui::Padded(row.name, 16),
                                           row.state, tui::Padded(row.gpu, 16), row.steps, row.tokens,
                                           tui::Grouped(row.events), tui::Grouped(row.lost)));
  }
  return text;
}

int Ps(const PsOptions& options) {
  absl::StatusOr<std::string> address = FindHttpAddress(options.http, options.socket);
  if (!address.ok()) return Fail(address.status());
  absl::StatusOr<std::string> document = FetchProcessesDocument(*address);
  if (!document.ok()) return Fail(document.status());
  if (options.json) {
    std::cout << *document << std::endl;
    return kDone;
  }
  absl::StatusOr<BudgetReport> report = FetchBudget(*address, 0);
  if (!report.ok()) return Fail(report.status());
  absl::StatusOr<std::vector<Row>> rows = ReadRows(*document, *report);
  if (!rows.ok()) return Fail(rows.status());
  if (rows->empty()) {
    std::cout << "no process is connected to the collector at " << *address
              << ". Start one: stallscope run -- COMMAND\n";
  } else {
    std::cout << Table(*rows);
  }
  return kDone;
}

}  // namespace

void AddPsCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<PsOptions>();
  CLI::App* command = program.add_subcommand("ps", "Which processes are recorded, and how completely?");
  command->add_flag("--json", options->json, "a document of schema stallscope.processes/1");
  auto* socket = command
                     ->add_option("--collector", options->socket,
                                  "socket of the collector to ask (default: yours, else the newest)")
                     ->type_name("SOCKET");
  command->add_option("--http", options->http, "HTTP address of the collector to ask")
      ->check(HttpAddressProblem)
      ->type_name("IP:PORT")
      ->excludes(socket);
  command->footer("Example:\n  stallscope ps --json | jq '.processes[].pid'");
  command->callback([options, exit_code] { *exit_code = Ps(*options); });
}

}  // namespace stallscope::cli
