#include "tools/tui/live_view.h"

#include "tools/tui/budget_view.h"

namespace stallscope::tui {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kWindows[] = {1 * kSecond, 10 * kSecond, 60 * kSecond, 300 * kSecond, 0};

}  // namespace

bool LiveView::HandleKey(int key) {
  switch (key) {
    case 'q':
    case 'Q':
      return false;
    case 'w': {
      size_t next = 0;
      for (size_t i = 0; i < std::size(kWindows); ++i) {
        if (kWindows[i] == window_ns_) next = (i + 1) % std::size(kWindows);
      }
      window_ns_ = kWindows[next];
      break;
    }
    case 't':
      per_token_first_ = !per_token_first_;
      break;
    case 'p':
      next_process_ = true;
      break;
    case ' ':
      paused_ = !paused_;
      break;
    case '?':
    case 'h':
      help_ = !help_;
      break;
    default:
      break;
  }
  return true;
}

std::vector<StyledLine> LiveView::Render(const BudgetReport& report, size_t width, size_t height) {
  ViewOptions options;
  options.width = width, options.window_ns = window_ns_, options.ascii = ascii_, options.paused = paused_;
  options.help = help_, options.per_token_first = per_token_first_, options.keys = true;
  options.process_count = report.processes.size();

  std::vector<StyledLine> lines;
  size_t chosen = std::string::npos;
  for (size_t i = 0; i < report.processes.size(); ++i) {
    if (pid_ != 0 && report.processes[i].pid == pid_) chosen = i;
  }
  const size_t busiest = ChooseProcess(report);
  if (next_process_ && busiest != std::string::npos) {
    chosen = ((chosen == std::string::npos ? busiest : chosen) + 1) % report.processes.size();
    pid_ = report.processes[chosen].pid;
  }
  next_process_ = false;
  if (chosen == std::string::npos && pid_ == 0) chosen = busiest;

  if (chosen != std::string::npos) {
    options.process_number = chosen + 1;
    lines = RenderProcess(report.processes[chosen], options);
  } else if (pid_ != 0) {
    lines = RenderNothing(options, source_);
    if (!report.processes.empty()) {  // in place of "no process is connected"
      lines[lines.size() - 2] = {
          {"Process " + std::to_string(pid_) + " is not among the ones recorded here", Style::kWarning},
          {"; [p] shows another."}};
    }
  } else {
    lines = RenderNothing(options, source_);
  }
  // The last line holds the keys: it stays, what is above it is cut.
  if (lines.size() > height && height > 0) lines.erase(lines.begin() + static_cast<long>(height) - 1, lines.end() - 1);
  return lines;
}

}  // namespace stallscope::tui
