// A process's stall budget as lines of text: what `top`, `budget` and the end of `run` show.
//
// A pure function of the report: no terminal, no clock. The columns add up: per-step and per-token figures are shared
// out so that their printed digits sum to the printed total. Nothing is shown without its window, its source and its
// health; an empty window says why.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collector/budget/report.h"
#include "tools/tui/styled_text.h"

namespace stallscope::tui {

struct ViewOptions {
  size_t width = 80;      // below 100 columns without the hidden column
  int64_t window_ns = 0;  // as asked for; 0: everything since the start
  bool ascii = false;     // for terminals without UTF-8
  bool paused = false;
  bool keys = false;  // the line with the keys
  bool help = false;  // what the keys do, instead of the budget
  bool per_token_first = false;
  size_t process_number = 0, process_count = 1;  // "process 2 of 3", from 1
};

// The process a view shows when none is chosen: most tokens, then most steps, then most recorded events. npos when
// there is none.
size_t ChooseProcess(const BudgetReport& report);

// Two or three lines: who, rates, boundaries and health.
std::vector<StyledLine> RenderHeader(const ProcessReport& process, const ViewOptions& options);

// The table of lines, or why there is none.
std::vector<StyledLine> RenderBudget(const ProcessReport& process, const ViewOptions& options);

// Header, table, blocked threads, notices, keys.
std::vector<StyledLine> RenderProcess(const ProcessReport& process, const ViewOptions& options);

// What is shown when no process is known.
std::vector<StyledLine> RenderNothing(const ViewOptions& options, const std::string& source);

// One line for logs and pipes.
std::string StatusLine(const ProcessReport& process);

}  // namespace stallscope::tui
