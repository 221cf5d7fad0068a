// stallscope top: the live budget.
#include <signal.h>
#include <time.h>

#include <iostream>

#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/http_option.h"
#include "tools/cli/live_display.h"
#include "tools/cli/live_source.h"
#include "tools/cli/window_option.h"
#include "tools/tui/budget_view.h"

namespace stallscope::cli {
namespace {

constexpr int kRefreshMs = 400;  // more than twice a second

struct TopOptions {
  std::string window = "10s", socket, http;
  uint32_t pid = 0;
  bool once = false, json = false;
};

int ShowOnce(const TopOptions& options, const std::string& address, int64_t window_ns) {
  absl::StatusOr<std::string> document = FetchBudgetDocument(address, window_ns);
  if (!document.ok()) return Fail(document.status());
  if (options.json) {
    std::cout << *document;
    if (!document->empty() && document->back() != '\n') std::cout << '\n';
    return kDone;
  }
  absl::StatusOr<BudgetReport> report = FetchBudget(address, window_ns);
  if (!report.ok()) return Fail(report.status());
  tui::LiveView view(window_ns, options.pid, "collector at " + address, !tui::LocaleIsUtf8());
  std::vector<tui::StyledLine> lines = view.Render(*report, 100, 1000);
  lines.pop_back();  // the keys
  std::cout << tui::PlainText(lines);
  return kDone;
}

int ShowLive(const TopOptions& options, const std::string& address, int64_t window_ns) {
  LiveDisplay::Options display_options;
  display_options.window_ns = window_ns, display_options.pid = options.pid;
  display_options.source = "collector at " + address;
  display_options.keys = tui::Terminal::Keys::kFromStdin;
  display_options.lines_to = stdout;
  LiveDisplay display(display_options);
  for (;;) {
    absl::StatusOr<BudgetReport> report = FetchBudget(address, display.window_ns());
    if (!report.ok()) {
      display.Close();
      return Fail(report.status());
    }
    display.Show(*report);
    if (display.on_terminal()) {
      if (!display.HandleKeys(kRefreshMs)) return kDone;
    } else {
      const timespec pause = {0, kRefreshMs * 1'000'000L};
      nanosleep(&pause, nullptr);
    }
  }
}

int Top(const TopOptions& options) {
  absl::StatusOr<int64_t> window_ns = ParseWindow(options.window);
  if (!window_ns.ok()) {
    Warn(std::string(window_ns.status().message()));
    return kUsage;
  }
  absl::StatusOr<std::string> address = FindHttpAddress(options.http, options.socket);
  if (!address.ok()) return Fail(address.status());
  return options.once || options.json ? ShowOnce(options, *address, *window_ns)
                                      : ShowLive(options, *address, *window_ns);
}

}  // namespace

void AddTopCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = program.add_subcommand("top", "Where does each token's time go right now?");
  command->add_flag("--once", options->once, "print the present state and end");
  command->add_flag("--json", options->json, "with --once (implied): the document of schema stallscope.budget/1");
  command->add_option("--window", options->window, "how far back: 1s, 10s, 60s, 5m, or all")
      ->type_name("LENGTH")
      ->capture_default_str();
  command->add_option("--process", options->pid, "pid to begin with (default: the busiest)")->type_name("PID");
  auto* socket = command
                     ->add_option("--collector", options->socket,
                                  "socket of the collector to ask (default: yours, else the newest)")
                     ->type_name("SOCKET");
  command->add_option("--http", options->http, "HTTP address of the collector to ask, as 127.0.0.1:9417")
      ->check(HttpAddressProblem)
      ->type_name("IP:PORT")
      ->excludes(socket);
  command->footer(
      "Keys: w window, t per token or per step, p next process, space pause, q quit, ? help.\n"
      "Without a terminal: a line of text more than twice a second.\n\n"
      "Example:\n  stallscope top --once --json --window 60s | jq '.processes[0].lines'");
  command->callback([options, exit_code] { *exit_code = Top(*options); });
}

}  // namespace stallscope::cli
