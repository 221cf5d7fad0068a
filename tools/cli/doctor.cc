// stallscope doctor: what will work here, what will not, and why.
#include <iostream>
#include <nlohmann/json.hpp>

#include "collector/main/collector.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/gpu_checks.h"
#include "tools/cli/host_checks.h"
#include "tools/cli/installation.h"
#include "tools/cli/process_checks.h"
#include "tools/tui/number_text.h"

namespace stallscope::cli {
namespace {

const char* StateName(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "ok";
    case CheckState::kWarn:
      return "warn";
    case CheckState::kMissing:
      return "missing";
  }
  return "";
}

Checks CheckHost() {
  const std::string folder = ProgramFolder();
  return {CheckAgent(folder), CheckSharedMemory(), CheckClock(""),           CheckSocketFolder(DefaultSocketPath()),
          CheckCollector(),   CheckPtrace(""),     CheckDriver(""),          CheckDevices(""),
          CheckCudart(),      CheckCupti(),        CheckSimulatedGpu(folder)};
}

bool MainRoadWorks(const Checks& checks) {
  for (const Check& check : checks) {
    if (check.main_road && check.state == CheckState::kMissing) return false;
  }
  return true;
}

std::string Json(const Checks& checks) {
  nlohmann::ordered_json document = {{"schema", "stallscope.doctor/1"}, {"works", MainRoadWorks(checks)}};
  document["checks"] = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    document["checks"].push_back(
        {{"name", check.name}, {"state", StateName(check.state)}, {"found", check.found}, {"next", check.next}});
  }
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string Text(const Checks& checks) {
  std::string text;
  for (const Check& check : checks) {
    text += tui::Padded(StateName(check.state), 8) + tui::Padded(check.name, 16) + check.found + "\n";
    if (!check.next.empty()) text += std::string(24, ' ') + "-> " + check.next + "\n";
  }
  return text + (MainRoadWorks(checks) ? "\nRecording works here.\n"
                                       : "\nRecording cannot work here: see what is missing above.\n");
}

}  // namespace

void AddDoctorCommand(CLI::App& program, int* exit_code) {
  struct DoctorOptions {
    uint32_t pid = 0;
    bool json = false;
  };
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command =
      program.add_subcommand("doctor", "What will work on this machine, or for this process, what will not, and why?");
  command->add_option("PID", options->pid, "a running process to look at as well");
  command->add_flag("--json", options->json, "a document of schema stallscope.doctor/1");
  command->footer(
      "Exit code 0 when programs can be recorded here, 4 when not. A GPU is not needed for that.\n\n"
      "Example:\n  stallscope doctor $(pgrep -f EngineCore)");
  command->callback([options, exit_code] {
    Checks checks = CheckHost();
    if (options->pid != 0) {
      for (Check& check : CheckProcess("", options->pid)) checks.push_back(std::move(check));
    }
    std::cout << (options->json ? Json(checks) : Text(checks));
    std::cout.flush();
    *exit_code = MainRoadWorks(checks) ? kDone : kNotAvailable;
  });
}

}  // namespace stallscope::cli
