// Shows budgets while they change: a page on a terminal, a line of text now and then elsewhere.
//
// Single thread. The caller fetches the report and says how often.
#pragma once

#include <memory>
#include <string>

#include "collector/budget/report.h"
#include "tools/tui/live_view.h"
#include "tools/tui/terminal.h"

namespace stallscope::cli {

class LiveDisplay {
 public:
  struct Options {
    int64_t window_ns = 10'000'000'000;
    uint32_t pid = 0;
    std::string source;
    tui::Terminal::Keys keys = tui::Terminal::Keys::kNone;
    std::FILE* lines_to = nullptr;  // where lines go when there is no terminal (borrowed)
  };
  explicit LiveDisplay(const Options& options);

  bool on_terminal() const { return terminal_ != nullptr; }
  int64_t window_ns() const { return view_.window_ns(); }

  void Show(const BudgetReport& report);
  // Waits up to `timeout_ms` for a key. false: the user wants to leave.
  bool HandleKeys(int timeout_ms);
  // Gives the terminal back.
  void Close() { terminal_.reset(); }

 private:
  void Draw();

  Options options_;
  tui::LiveView view_;
  std::unique_ptr<tui::Terminal> terminal_;
  BudgetReport shown_;
};

}  // namespace stallscope::cli
