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
  struct Charge {
    Line line;
    HostNs from, to;
    CauseKey cause;
  };

  explicit ChargeSheet(StepBudget* budget) : budget_(*budget) {}
  // Keeps the charges one by one instead of adding them up.
  ChargeSheet(StepBudget* budget, std::vector<Charge>* charges) : budget_(*budget), charges_(charges) {}

  // Sorted, disjoint.
  std::vector<TimeSpan>& unknown_late() { return unknown_late_; }

  void ChargeGpu(Line line, HostNs from, HostNs to, CauseKey cause) { Write(line, from, to, cause); }

  void ChargeIdleGpu(Line line, HostNs from, HostNs to, CauseKey cause) {
    if (to <= from) return;
    for (const TimeSpan& unknown : unknown_late_) {
      const HostNs begin = std::max(from, unknown.begin), end = std::min(to, unknown.end);
      if (end <= begin) continue;
      Write(Line::kUnknownLate, begin, end, 0);
      if (begin > from) Write(line, from, begin, cause);
      from = end;
    }
    if (to > from) Write(line, from, to, cause);
  }

 private:
  void Write(Line line, HostNs from, HostNs to, CauseKey cause) {
    if (charges_ != nullptr) return charges_->push_back({line, from, to, cause});
    const int64_t ns = to - from;
    const auto index = static_cast<size_t>(line);
    budget_.lines[index] += ns;
    if (cause != 0) budget_.notes[index].Add(cause, ns, 1);
  }

  StepBudget& budget_;
  std::vector<Charge>* charges_ = nullptr;
  std::vector<TimeSpan> unknown_late_;
};

}  // namespace stallscope
