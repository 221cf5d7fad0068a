// What a live view of budgets shows and how keys change it, without a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/budget/report.h"
#include "tools/tui/styled_text.h"

namespace stallscope::tui {

class LiveView {
 public:
  // pid 0: the busiest process. `source`: where the numbers come from, shown when there are none.
  LiveView(int64_t window_ns, uint32_t pid, std::string source, bool ascii)
      : window_ns_(window_ns), pid_(pid), source_(std::move(source)), ascii_(ascii) {}

  // false: the user wants to leave. Unknown keys change nothing.
  bool HandleKey(int key);

  int64_t window_ns() const { return window_ns_; }  // to ask the collector for; 0: everything
  bool paused() const { return paused_; }           // keep the last report

  // At most `height` lines of at most `width` columns.
  std::vector<StyledLine> Render(const BudgetReport& report, size_t width, size_t height);

 private:
  int64_t window_ns_;
  uint32_t pid_;
  std::string source_;
  bool ascii_;
  bool paused_ = false, help_ = false, per_token_first_ = false;
  bool next_process_ = false;  // at the next report: the one after pid_
};

}  // namespace stallscope::tui
