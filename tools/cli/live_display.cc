#include "tools/cli/live_display.h"

#include <cstdio>

#include "tools/tui/budget_view.h"

namespace stallscope::cli {

LiveDisplay::LiveDisplay(const Options& options)
    : options_(options), view_(options.window_ns, options.pid, options.source, !tui::LocaleIsUtf8()) {
  if (auto terminal = tui::Terminal::Open(options.keys); terminal.ok()) terminal_ = *std::move(terminal);
}

void LiveDisplay::Show(const BudgetReport& report) {
  if (view_.paused()) return;
  shown_ = report;
  if (terminal_ != nullptr) {
    Draw();
    return;
  }
  size_t chosen = tui::ChooseProcess(report);
  for (size_t i = 0; i < report.processes.size(); ++i) {
    if (options_.pid != 0 && report.processes[i].pid == options_.pid) chosen = i;
  }
  const std::string line =
      chosen == std::string::npos ? "no process is connected" : tui::StatusLine(report.processes[chosen]);
  std::fprintf(options_.lines_to, "%s\n", line.c_str());
  std::fflush(options_.lines_to);
}

void LiveDisplay::Draw() { terminal_->Show(view_.Render(shown_, terminal_->width(), terminal_->height())); }

bool LiveDisplay::HandleKeys(int timeout_ms) {
  if (terminal_ == nullptr) return true;
  const int key = terminal_->Key(timeout_ms);
  if (key < 0) return true;
  if (key != 0 && !view_.HandleKey(key)) return false;
  Draw();
  return true;
}

}  // namespace stallscope::cli
