#include "tools/cli/run_summary.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/tui/budget_view.h"
#include "tools/tui/memory_view.h"
#include "tools/tui/number_text.h"

namespace stallscope::cli {
namespace {

using tui::Grouped;

// A shell script of a thousand processes must not scroll the one that matters away.
constexpr size_t kMostInFull = 4, kMostInALine = 20;

std::string Microseconds(int64_t total_ns, uint64_t count) {
  return absl::StrCat(Grouped((total_ns / static_cast<int64_t>(count) + 50) / 100, 1), " us");
}

std::string OverWait(const ProcessReport& process) {
  int64_t over_wait_ns = 0, within_clock_error_ns = 0, idle_inside_ns = 0;
  uint64_t calls = 0;
  for (const SyncReport& sync : process.syncs) {
    within_clock_error_ns += sync.within_clock_error_ns;
    over_wait_ns += sync.over_wait_ns, idle_inside_ns += sync.idle_inside_ns, calls += sync.calls;
  }
  if (calls == 0) return "over-wait  no blocking CUDA call was seen\n";
  return absl::StrCat("over-wait  ", tui::Duration(over_wait_ns), " in ", Grouped(static_cast<int64_t>(calls)),
                      " blocking calls, ", Microseconds(over_wait_ns, process.steps), " a step; idle inside them ",
                      tui::Duration(idle_inside_ns),
                      within_clock_error_ns == 0
                          ? ""
                          : absl::StrCat("; within clock error, not counted: ", tui::Duration(within_clock_error_ns)),
                      "\n");
}

std::string OfOneProcess(const ProcessReport& process, size_t width, bool ascii) {
  tui::ViewOptions options;
  options.width = width, options.ascii = ascii;
  std::vector<tui::StyledLine> lines = tui::RenderHeader(process, options);
  lines.push_back({});
  for (tui::StyledLine& line : tui::RenderBudget(process, options)) lines.push_back(std::move(line));
  for (tui::StyledLine& line : tui::RenderMemory(process, options)) lines.push_back(std::move(line));
  for (const std::string& notice : process.notices) lines.push_back({{notice}});
  std::string text = tui::PlainText(lines) + "\n";
  if (process.steps == 0 || process.wall_ns <= 0) return text;

  int64_t sum_ns = 0;
  for (const LineReport& line : process.lines) sum_ns += line.ns;
  absl::StrAppend(&text, "steps      ", Grouped(static_cast<int64_t>(process.steps)), ", ",
                  Microseconds(process.wall_ns, process.steps), " each\n");
  absl::StrAppend(&text, "tokens     ", Grouped(static_cast<int64_t>(process.tokens)));
  if (process.tokens != 0) absl::StrAppend(&text, ", ", Microseconds(process.wall_ns, process.tokens), " each");
  absl::StrAppend(&text, " (", process.tokens_source, ")\n");
  absl::StrAppend(&text, "adds up    ", Grouped(sum_ns), " ns in lines, ", Grouped(process.wall_ns), " ns of wall time",
                  sum_ns == process.wall_ns ? "" : "  DOES NOT ADD UP: please report this", "\n");
  absl::StrAppend(&text, OverWait(process));
  return text;
}

}  // namespace

std::string RunSummary(const BudgetReport& report, const CollectorTotals& totals, const RunFacts& facts, size_t width,
                       bool ascii) {
  std::string text;
  bool simulated = false;
  // The ones that made most tokens first; those alike stay in the order in which they came.
  std::vector<const ProcessReport*> order;
  for (const ProcessReport& process : report.processes) {
    simulated = simulated || process.simulated_gpu;
    order.push_back(&process);
  }
  std::stable_sort(order.begin(), order.end(), [](const ProcessReport* a, const ProcessReport* b) {
    return std::pair(a->tokens, a->steps) > std::pair(b->tokens, b->steps);
  });
  size_t in_full = 0, in_a_line = 0;
  for (const ProcessReport* process : order) {
    if (in_full < kMostInFull && (process->steps != 0 || order.size() == 1)) {
      text += OfOneProcess(*process, width, ascii);
      ++in_full;
    } else if (in_a_line < kMostInALine) {
      absl::StrAppend(&text, tui::StatusLine(*process), "\n");
      ++in_a_line;
    }
  }
  if (in_full + in_a_line < order.size()) {
    absl::StrAppend(&text, "... and ", order.size() - in_full - in_a_line, " more processes",
                    facts.capture_path.empty() ? "" : ": stallscope budget " + facts.capture_path, "\n");
  }
  if (report.processes.empty()) {
    absl::StrAppend(&text,
                    "No process was recorded: the command ended before the agent said hello, or started none that "
                    "could load it.\n");
  }
  absl::StrAppend(&text, "received   ", Grouped(static_cast<int64_t>(totals.events)), " events");
  if (totals.socket_bytes != 0) {  // known for a collector of our own only
    absl::StrAppend(&text, " in ", Grouped(static_cast<int64_t>(totals.socket_bytes)), " bytes from ",
                    totals.processes_seen, totals.processes_seen == 1 ? " process" : " processes");
  }
  text += "\n";
  for (const std::string& notice : totals.notices) absl::StrAppend(&text, "note       ", notice, "\n");
  if (!facts.capture_path.empty()) {
    if (totals.capture_status.ok()) {
      absl::StrAppend(&text, "capture    ", facts.capture_path, " (",
                      Grouped(static_cast<int64_t>(totals.capture_bytes)), " bytes)",
                      "; its tables: stallscope report ", facts.capture_path, "\n");
    } else {
      absl::StrAppend(&text, "INCOMPLETE ", totals.capture_status.message(), "\n");
    }
  }
  if (facts.simulated_gpu && !simulated) {
    absl::StrAppend(&text, "gpu        the simulated GPU was asked for and no process used it\n");
  }
  return text;
}

}  // namespace stallscope::cli
