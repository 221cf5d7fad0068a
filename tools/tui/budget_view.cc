#include "tools/tui/budget_view.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/tui/memory_view.h"
#include "tools/tui/number_text.h"

namespace stallscope::tui {
namespace {

constexpr size_t kNameColumns = 21, kNumberColumns = 11, kShareColumns = 7;
constexpr size_t kWidthWithHidden = 100;

Style StyleOf(LineGroup group) {
  switch (group) {
    case LineGroup::kGpuUseful:
      return Style::kGpuUseful;
    case LineGroup::kGpuOverhead:
      return Style::kGpuOverhead;
    case LineGroup::kHost:
      return Style::kHost;
    case LineGroup::kIdle:
      return Style::kIdle;
    case LineGroup::kUnknown:
      return Style::kUnknown;
  }
  return Style::kPlain;
}

const char* BarMark(LineGroup group, bool ascii) {
  switch (group) {
    case LineGroup::kGpuUseful:
      return ascii ? "#" : "▇";
    case LineGroup::kGpuOverhead:
      return ascii ? "+" : "▆";
    case LineGroup::kHost:
      return ascii ? "=" : "▄";
    case LineGroup::kIdle:
      return ascii ? "." : "░";
    case LineGroup::kUnknown:
      return ascii ? "?" : "▒";
  }
  return " ";
}

// A rate with three digits or more: 59.8, 1,912.
std::string Rate(uint64_t count, int64_t wall_ns) {
  const double rate = wall_ns > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(wall_ns) : 0;
  return rate >= 100 ? Grouped(static_cast<int64_t>(rate + 0.5)) : Grouped(static_cast<int64_t>(rate * 10 + 0.5), 1);
}

// Three latencies in one unit: "p50 16.4  p90 17.1  p99 41.8 ms".
std::string Latencies(int64_t p50_ns, int64_t p90_ns, int64_t p99_ns) {
  const bool in_ms = p50_ns >= 1'000'000;
  const int decimals = in_ms ? (p50_ns >= 10'000'000 ? 1 : 2) : 0;
  const int64_t unit_ns = in_ms ? (decimals == 1 ? 100'000 : 10'000) : 1000;
  auto text = [&](int64_t ns) { return Grouped((ns + unit_ns / 2) / unit_ns, decimals); };
  return absl::StrCat("p50 ", text(p50_ns), "  p90 ", text(p90_ns), "  p99 ", text(p99_ns), in_ms ? " ms" : " us");
}

std::string Share(double share) { return absl::StrFormat("%.1f %%", share * 100); }

// How many decimals of a microsecond a column needs to say something about its smaller lines.
int DecimalsFor(int64_t ns_per_unit) { return ns_per_unit >= 10'000'000 ? 0 : ns_per_unit >= 100'000 ? 1 : 2; }

// Nanoseconds by line, divided by `divisor` and shown in microseconds: integers of the last decimal that sum to
// `total`.
struct Column {
  std::vector<int64_t> cells;
  int64_t total = 0;
  int decimals = 0;

  Column(const std::vector<int64_t>& parts_ns, int64_t sum_ns, uint64_t divisor) {
    if (divisor == 0) return;
    const auto count = static_cast<int64_t>(divisor);
    decimals = DecimalsFor(sum_ns / count);
    const int64_t ns_of_last_decimal = decimals == 0 ? 1000 : decimals == 1 ? 100 : 10;
    total = (sum_ns + count * ns_of_last_decimal / 2) / (count * ns_of_last_decimal);
    cells = ShareOut(parts_ns, total);
  }
  std::string Cell(size_t i) const { return cells.empty() ? "-" : Grouped(cells[i], decimals); }
  std::string Total() const { return cells.empty() ? "-" : Grouped(total, decimals); }
};

StyledLine Bar(const std::vector<int64_t>& group_ns, const ViewOptions& options) {
  const std::vector<int64_t> cells = ShareOut(group_ns, static_cast<int64_t>(std::min<size_t>(options.width, 66)));
  StyledLine line;
  for (size_t group = 0; group < cells.size(); ++group) {
    std::string text;
    for (int64_t i = 0; i < cells[group]; ++i) text += BarMark(static_cast<LineGroup>(group), options.ascii);
    if (!text.empty()) line.push_back({text, StyleOf(static_cast<LineGroup>(group))});
  }
  return line;
}

std::string Separator(const ViewOptions& options) { return options.ascii ? " - " : " · "; }

std::string HealthText(const ProcessReport& process) {
  const auto& health = process.health;
  std::string text = absl::StrCat("health: ", Grouped(static_cast<int64_t>(health.events)), " events, ", health.dropped,
                                  " lost, ", health.late, " late");
  if (health.clamped != 0) absl::StrAppend(&text, ", ", health.clamped, " clamped");
  if (health.unmatched != 0) absl::StrAppend(&text, ", ", health.unmatched, " unmatched");
  if (process.gpu_clock_uncertainty_ns == 0) absl::StrAppend(&text, ", GPU clock = host's");
  if (process.gpu_clock_uncertainty_ns > 0) {
    absl::StrAppend(&text, ", GPU clock +-", Duration(process.gpu_clock_uncertainty_ns));
  }
  return text;
}

// What the agent costs: of wall time with the governor's limit, where there is a governor; else of the process's CPU time.
std::string CostText(const ProcessReport& process) {
  const GovernorReport& governor = process.governor;
  if (!governor.known) return absl::StrCat("cost ", Share(process.agent_cost_share));
  return absl::StrCat("cost ", Share(governor.cost_share), " (limit ", Share(governor.limit_share), ")",
                      governor.node_window ? ", graph nodes now" : "");
}

// "1 gpu_zero_time, 12 ring_lost"; empty when nothing was lost or refused since the process began.
std::string CausesText(const ProcessReport& process) {
  std::string text;
  for (const HealthCause& cause : process.health_causes) {
    if (cause.count != 0) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", Grouped(static_cast<int64_t>(cause.count)), " ", cause.name);
    }
  }
  return text;
}

std::string BatchText(const BatchReport& batch) {
  std::string text = absl::StrFormat("batch (%s): %.1f decoding, %.1f prefilling requests", batch.source,
                                     batch.decoding_requests, batch.prefilling_requests);
  if (batch.decoding_tokens + batch.prefilling_tokens > 0) {
    absl::StrAppendFormat(&text, "; %.1f and %.1f tokens scheduled", batch.decoding_tokens, batch.prefilling_tokens);
  }
  return text;
}

std::string Cut(const std::string& text, size_t width) { return Columns(text) > width ? Padded(text, width) : text; }

}  // namespace

size_t ChooseProcess(const BudgetReport& report) {
  size_t best = std::string::npos;
  auto rank = [&report](size_t i) {
    const ProcessReport& process = report.processes[i];
    return std::array<uint64_t, 3>{process.tokens, process.steps, process.health.events};
  };
  for (size_t i = 0; i < report.processes.size(); ++i) {
    if (best == std::string::npos || rank(i) > rank(best)) best = i;
  }
  return best;
}

std::vector<StyledLine> RenderHeader(const ProcessReport& process, const ViewOptions& options) {
  const std::string separator = Separator(options);
  std::string who = absl::StrCat(separator, process.process_name, " ", process.pid);
  if (options.process_count > 1) {
    absl::StrAppend(&who, " (", options.process_number, " of ", options.process_count, ")");
  }
  if (process.simulated_gpu) {
    absl::StrAppend(&who, separator, "simulated GPU");
  } else if (!process.gpu.empty()) {
    absl::StrAppend(&who, separator, process.gpu);
  } else {
    absl::StrAppend(&who, separator, "no GPU seen");
  }
  absl::StrAppend(&who, separator, options.window_ns > 0 ? "window " + Length(options.window_ns) : "whole run");
  if (!process.agent_level.empty()) absl::StrAppend(&who, separator, "level ", process.agent_level);
  absl::StrAppend(&who, separator, CostText(process));
  // Where both do not fit, what is shown matters more than who shows it.
  std::string title = "stallscope";
  if (title.size() + Columns(who) > options.width) {
    title.clear();
    who = who.substr(separator.size());
  }
  std::vector<StyledLine> lines = {{{title, Style::kBold}, {Cut(who, options.width - title.size()), Style::kPlain}}};
  if (options.paused) lines[0].push_back({"  PAUSED", Style::kWarning});

  if (process.steps > 0) {
    std::string rates = absl::StrCat("tokens/s ", Rate(process.tokens, process.wall_ns), "   steps/s ",
                                     Rate(process.steps, process.wall_ns));
    absl::StrAppend(&rates, "   ITL ", Latencies(process.itl_p50_ns, process.itl_p90_ns, process.itl_p99_ns));
    if (process.tokens > 0) {
      absl::StrAppend(&rates, "   TPOT ", Duration(process.wall_ns / static_cast<int64_t>(process.tokens)));
    }
    // The last figure is the one that a narrow terminal would cut.
    for (size_t at = 0; Columns(rates) > options.width && (at = rates.find("   ", at)) != std::string::npos; at += 2) {
      rates.erase(at, 1);
    }
    lines.push_back({{Cut(rates, options.width)}});
  }
  std::string sources;
  if (process.steps > 0) {
    sources = absl::StrFormat("boundaries: %s (%.2f)   tokens: %s   ", process.segmentation_method,
                              process.segmentation_confidence, process.tokens_source);
  }
  const bool trouble = process.health.dropped + process.health.late > 0;
  const std::string health = HealthText(process);
  if (sources.size() + health.size() <= options.width) {
    lines.push_back({{sources, Style::kDim}, {health, trouble ? Style::kWarning : Style::kDim}});
  } else {
    lines.push_back({{Cut(sources, options.width), Style::kDim}});
    lines.push_back({{Cut(health, options.width), trouble ? Style::kWarning : Style::kDim}});
  }
  if (process.batch.batches > 0) lines.push_back({{Cut(BatchText(process.batch), options.width), Style::kDim}});
  if (process.governor.less_than_asked) {
    lines.push_back({{Cut("less detail: " + process.governor.why, options.width), Style::kWarning}});
  }
  if (const std::string causes = CausesText(process); !causes.empty()) {
    lines.push_back({{Cut("since start: " + causes, options.width), Style::kWarning}});
  }
  return lines;
}

std::vector<StyledLine> RenderBudget(const ProcessReport& process, const ViewOptions& options) {
  std::vector<StyledLine> lines;
  if (process.steps == 0 || process.wall_ns <= 0) {
    const std::string why = process.segmentation_why.empty()
                                ? "nothing that looks like a decode step was recorded in this window."
                                : process.segmentation_why;
    lines.push_back({{"No step found", Style::kWarning}, {options.window_ns > 0 ? " in this window: " : ": "}, {why}});
    return lines;
  }
  std::vector<int64_t> parts_ns, hidden_ns, group_ns(5, 0);
  for (int i = 0; i < kLineCount; ++i) {
    parts_ns.push_back(process.lines[i].ns);
    hidden_ns.push_back(process.lines[i].hidden_ns);
    group_ns[static_cast<size_t>(kLines[i].group)] += process.lines[i].ns;
  }
  const Column per_step(parts_ns, process.wall_ns, process.steps);
  const Column per_token(parts_ns, process.wall_ns, process.tokens);
  const std::vector<int64_t> share = ShareOut(parts_ns, 1000);
  const bool with_hidden = options.width >= kWidthWithHidden;

  const Column& first = options.per_token_first ? per_token : per_step;
  const Column& second = options.per_token_first ? per_step : per_token;
  const char* first_name = options.per_token_first ? "per token" : "per step";
  const char* second_name = options.per_token_first ? "per step us" : "per token us";
  std::string heading = absl::StrCat(Padded(first_name, kNameColumns), PaddedLeft("us", kNumberColumns),
                                     PaddedLeft("%", kShareColumns), PaddedLeft(second_name, kNumberColumns + 2));
  if (with_hidden) heading += PaddedLeft("hidden us", kNumberColumns + 2);
  lines.push_back({{heading, Style::kBold}});
  lines.push_back(Bar(group_ns, options));

  for (int i = 0; i < kLineCount; ++i) {
    const LineReport& line = process.lines[i];
    const auto at = static_cast<size_t>(i);
    if (line.ns == 0 && (!with_hidden || line.hidden_ns == 0)) continue;
    std::string numbers =
        absl::StrCat(PaddedLeft(first.Cell(at), kNumberColumns), PaddedLeft(Grouped(share[at], 1), kShareColumns),
                     PaddedLeft(second.Cell(at), kNumberColumns + 2));
    if (with_hidden) {
      const int64_t divisor = static_cast<int64_t>(options.per_token_first ? process.tokens : process.steps);
      const std::string hidden =
          line.hidden_ns == 0 || divisor == 0 ? "" : Grouped((line.hidden_ns / divisor + 50) / 100, 1);
      numbers += PaddedLeft(hidden, kNumberColumns + 2);
    }
    const size_t used = kNameColumns + Columns(numbers);
    StyledLine row = {{Padded(kLines[i].name, kNameColumns), StyleOf(kLines[i].group)}, {numbers}};
    if (!line.note.empty() && options.width >= used + 14) {
      row.push_back({"   " + Cut(line.note, options.width - used - 3), Style::kDim});
    }
    lines.push_back(std::move(row));
  }
  lines.push_back({{absl::StrCat(Padded("", kNameColumns), PaddedLeft("------", kNumberColumns),
                                 PaddedLeft("-----", kShareColumns), PaddedLeft("------", kNumberColumns + 2))}});
  lines.push_back({{absl::StrCat(Padded("", kNameColumns), PaddedLeft(first.Total(), kNumberColumns),
                                 PaddedLeft("100.0", kShareColumns), PaddedLeft(second.Total(), kNumberColumns + 2)),
                    Style::kBold}});
  return lines;
}

std::vector<StyledLine> RenderProcess(const ProcessReport& process, const ViewOptions& options) {
  std::vector<StyledLine> lines = RenderHeader(process, options);
  lines.push_back({});
  if (options.help) {
    for (const char* text :
         {"w  next window: 1 s, 10 s, 60 s, 5 min, whole run", "t  per step first, or per token first",
          "p  next process", "space  pause", "q  quit", "?  this help", "",
          "A line is charged only while nothing more important happens: GPU work first,",
          "then the one thing on the critical path. Hidden is host time behind GPU work:",
          "it costs nothing now, and never counts in the sum."}) {
      lines.push_back({{Cut(text, options.width)}});
    }
    return lines;
  }
  for (StyledLine& line : RenderBudget(process, options)) lines.push_back(std::move(line));
  lines.push_back({});
  for (const SyncReport& sync : process.syncs) {
    if (sync.over_wait_ns + sync.unneeded_ns <= 0) continue;
    const std::string text =
        absl::StrCat(sync.name, ": ", Grouped(static_cast<int64_t>(sync.calls)), " calls, ", Duration(sync.total_ns),
                     " in all, ", Duration(sync.over_wait_ns), " over-wait, ", Duration(sync.idle_inside_ns),
                     " idle inside, ", Duration(sync.unneeded_ns), " unneeded");
    // Too narrow for one line: no number is cut off.
    const size_t second = text.find(", ", text.find("over-wait"));
    if (Columns(text) > options.width && second != std::string::npos) {
      lines.push_back({{Cut(text.substr(0, second), options.width)}});
      lines.push_back({{Cut("  " + text.substr(second + 2), options.width)}});
    } else {
      lines.push_back({{Cut(text, options.width)}});
    }
  }
  for (StyledLine& line : RenderMemory(process, options)) lines.push_back(std::move(line));
  for (const BlockedThread& blocked : process.blocked) {
    const std::string text = absl::StrCat("now blocked   tid ", blocked.tid, " ", blocked.thread_name, "   ",
                                          blocked.call, "   ", Duration(blocked.for_ns));
    lines.push_back({{Cut(text, options.width)}});
    if (!blocked.where.empty()) lines.push_back({{Cut("  in " + blocked.where, options.width), Style::kDim}});
  }
  for (const std::string& notice : process.notices) lines.push_back({{Cut(notice, options.width), Style::kWarning}});
  if (options.keys) {
    lines.push_back({{Cut("[w]indow [t]oken/step [p]rocess [space] pause [q]uit [?]", options.width), Style::kDim}});
  }
  return lines;
}

std::vector<StyledLine> RenderNothing(const ViewOptions& options, const std::string& source) {
  std::vector<StyledLine> lines;
  lines.push_back({{"stallscope", Style::kBold}, {Separator(options) + source}});
  lines.push_back({});
  lines.push_back({{"No process is connected.", Style::kWarning}, {" Start one: stallscope run -- COMMAND"}});
  if (options.keys) lines.push_back({{"[q]uit", Style::kDim}});
  return lines;
}

std::string StatusLine(const ProcessReport& process) {
  std::string text =
      absl::StrCat(process.process_name, " ", process.pid, process.simulated_gpu ? " (simulated GPU)" : "", ": ");
  if (process.steps == 0 || process.wall_ns <= 0) {
    absl::StrAppend(
        &text, "no step yet",
        process.segmentation_why.empty() ? std::string() : absl::StrCat(" (", process.segmentation_why, ")"), ", ",
        Grouped(static_cast<int64_t>(process.health.events)), " events");
    return text;
  }
  absl::StrAppend(&text, "tokens/s ", Rate(process.tokens, process.wall_ns), ", steps/s ",
                  Rate(process.steps, process.wall_ns), ", ITL p50 ", Duration(process.itl_p50_ns), " p99 ",
                  Duration(process.itl_p99_ns));
  std::vector<std::pair<int64_t, std::string_view>> largest;
  for (int i = 0; i < kLineCount; ++i) largest.emplace_back(process.lines[i].ns, kLines[i].name);
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < 3 && largest[i].first > 0; ++i) {
    absl::StrAppend(&text, ", ", std::string(largest[i].second), " ",
                    Share(static_cast<double>(largest[i].first) / static_cast<double>(process.wall_ns)));
  }
  absl::StrAppend(&text, ", ", process.health.dropped, " lost");
  return text;
}

}  // namespace stallscope::tui
