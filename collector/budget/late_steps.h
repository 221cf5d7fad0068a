// Steps that were closed with unknown.late, kept for as long as the records that they miss may still come.
//
// Written and read by: ProcessAnalysis. Single thread. Memory is fixed: the oldest step gives way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "collector/budget/step_budget.h"
#include "collector/steps/step_interval.h"
#include "collector/timeline/timeline.h"

namespace stallscope {

struct LateStep {
  StepInterval step;
  StepBudget budget;  // as it was told
  uint64_t index = 0;
  std::vector<uint32_t> missing;  // correlation ids of the launches without records
};

class LateSteps {
 public:
  // The launches missing for a step that is about to be closed. False when they are too many to keep: the step will not be
  // corrected.
  static bool Missing(Timeline* timeline, const StepInterval& step, std::vector<uint32_t>* missing);

  void Add(LateStep step);
  // Takes out a step all of whose records have come. False when there is none.
  bool TakeComplete(const Timeline& timeline, LateStep* step);
  // Gives up steps that ended before `at`.
  void ForgetBefore(HostNs at);
  bool empty() const { return steps_.empty(); }
  // Of the oldest step; INT64_MAX when there is none.
  HostNs kept_from() const { return steps_.empty() ? INT64_MAX : steps_.front().step.begin; }

 private:
  static constexpr size_t kMaxSteps = 64;
  static constexpr size_t kMaxMissing = 1024;
  std::deque<LateStep> steps_;  // by time
};

}  // namespace stallscope
