// stallscope budget: the stall budget of a capture.
#include <iostream>
#include <memory>

#include "collector/budget/process_analysis.h"
#include "collector/serve/budget_json.h"
#include "collector/timeline/host_wakes.h"
#include "tools/cli/capture_command.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/window_option.h"
#include "tools/tui/budget_view.h"
#include "tools/tui/terminal.h"

namespace stallscope::cli {
namespace {

struct BudgetOptions {
  std::string file, window = "all";
  uint32_t pid = 0;
  bool json = false;
  AnalysisOptions analysis;
};

// One analysis a process, as in the collector.
class CaptureAnalysis : public ProcessSink {
 public:
  explicit CaptureAnalysis(const AnalysisOptions& options) : options_(options) { options_.host_wakes = &host_wakes_; }

  EventSink* OnProcess(const ProcessInfo& process, const ProcessNames* names) override {
    analyses_.push_back(ProcessAnalysis::Create(process, names, options_));
    return analyses_.back().get();
  }

  BudgetReport Finish(int64_t window_ns, uint32_t pid) {
    BudgetReport report;
    for (auto& analysis : analyses_) {
      analysis->Finish();
      ProcessReport process = analysis->Report(0, 0);
      if (pid != 0 && process.pid != pid) continue;
      // The last `window_ns` of this process: the window ends where its last step does.
      if (window_ns > 0) process = analysis->Report(window_ns, process.end);
      if (process.wall_ns > 0) {
        report.begin = report.begin == 0 ? process.begin : std::min(report.begin, process.begin);
        report.end = std::max(report.end, process.end);
      }
      report.processes.push_back(std::move(process));
    }
    return report;
  }

 private:
  AnalysisOptions options_;
  HostWakes host_wakes_;
  std::vector<std::unique_ptr<ProcessAnalysis>> analyses_;
};

int Budget(const BudgetOptions& options) {
  absl::StatusOr<int64_t> window_ns = ParseWindow(options.window);
  if (!window_ns.ok()) {
    Warn(std::string(window_ns.status().message()));
    return kUsage;
  }
  CaptureAnalysis analysis(options.analysis);
  if (const int code = FeedCapture(options.file, &analysis, options.pid); code != kDone) return code;
  const BudgetReport report = analysis.Finish(*window_ns, options.pid);
  if (options.json) {
    std::cout << BudgetReportToJson(report) << std::endl;
    return kDone;
  }
  tui::ViewOptions view;
  view.width = 100, view.window_ns = *window_ns, view.ascii = !tui::LocaleIsUtf8();
  bool any_steps = false;
  for (const ProcessReport& process : report.processes) any_steps = any_steps || process.steps != 0;
  for (const ProcessReport& process : report.processes) {
    // Helpers and shells beside a decoding process get one line.
    if (any_steps && process.steps == 0) {
      std::cout << tui::StatusLine(process) << "\n\n";
    } else {
      std::cout << tui::PlainText(tui::RenderProcess(process, view)) << "\n";
    }
  }
  std::cout.flush();
  return kDone;
}

}  // namespace

void AddBudgetCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<BudgetOptions>();
  CLI::App* command = program.add_subcommand("budget", "Where did each token's time go in this capture?");
  command->add_option("FILE", options->file, "a capture (.stallcap)")->required();
  command->add_flag("--json", options->json, "the document of schema stallscope.budget/1");
  command->add_option("--window", options->window, "only the last 1s, 10s, 5m; or all")
      ->type_name("LENGTH")
      ->capture_default_str();
  command->add_option("--process", options->pid, "only this pid")->type_name("PID");
  command
      ->add_option("--vocab", options->analysis.vocabulary,
                   "size of the model's vocabulary (default: learn it from copy sizes)")
      ->type_name("N");
  command->footer(
      "The lines of a process sum to its wall time exactly; hidden time lies behind GPU work and is in no sum.\n\n"
      "Example:\n  stallscope budget run.stallcap --json | jq '.processes[0].lines[\"host.sync_overwait\"]'");
  command->callback([options, exit_code] { *exit_code = Budget(*options); });
}

}  // namespace stallscope::cli
