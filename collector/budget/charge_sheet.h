// Where the instants of a step are written down: each instant once.
//
// Host charges that fall into a time for which GPU records are missing are written as unknown.late instead: the GPU may
// have been busy.
#pragma once

#include <algorithm>
#include <vector>

#include "collector/budget/step_budget.h"
#include "collector/timeline/thread_timeline.h"

namespace stallscope {

class ChargeSheet {
 public:
  explicit ChargeSheet(StepBudget* budget) : budget_(*budget) {}

  // Sorted, disjoint.
  std::vector<TimeSpan>& unknown_late() { return unknown_late_; }

  void ChargeGpu(Line line, HostNs from, HostNs to, CauseKey cause) {
    Write(line, to - from, cause);
    (void)from;
  }

  void ChargeIdleGpu(Line line, HostNs from, HostNs to, CauseKey cause) {
    if (to <= from) return;
    for (const TimeSpan& unknown : unknown_late_) {
      const HostNs begin = std::max(from, unknown.begin), end = std::min(to, unknown.end);
      if (end <= begin) continue;
      Write(Line::kUnknownLate, end - begin, 0);
      if (begin > from) Write(line, begin - from, cause);
      from = end;
    }
    if (to > from) Write(line, to - from, cause);
  }

 private:
  void Write(Line line, int64_t ns, CauseKey cause) {
    const auto index = static_cast<size_t>(line);
    budget_.lines[index] += ns;
    if (cause != 0) budget_.notes[index].Add(cause, ns, 1);
  }

  StepBudget& budget_;
  std::vector<TimeSpan> unknown_late_;
};

}  // namespace stallscope
