// Splits one step's wall time into lines (docs/budget.md section 4). The lines sum to the step's length exactly,
// always.
//
// Single thread. Reads the timeline; keeps only scratch memory between steps. Call Timeline::SettleDevices before.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/budget/awaited_work.h"
#include "collector/budget/step_budget.h"
#include "collector/budget/walk_back.h"
#include "collector/steps/step_interval.h"
#include "collector/timeline/timeline.h"

namespace stallscope {

class Attribution {
 public:
  struct Options {
    int64_t skew_margin_ns = 0;
    // A call that is still running when a step ends is seen if it ends this soon after: live, later ones have not come
    // yet.
    int64_t settle_ns = 0;
  };

  Attribution(Timeline* timeline, const SequenceDeque<SyncContext>* contexts, const Options& options)
      : timeline_(*timeline), awaited_(timeline, contexts), walk_(timeline, &awaited_), options_(options) {}

  // A wait for outside input is idle time from this length on (within the step). A batch that runs needs its next step
  // at once, so a shorter wait is a hand-over whose waker was not seen.
  void SetShortestIdle(int64_t ns) { shortest_idle_ns_ = ns; }

  // Steps come in order; going back to an earlier one (whose records came late) is possible and costs a search. `budget` is
  // overwritten.
  void Attribute(const StepInterval& step, StepBudget* budget);

  const AwaitedWorkFinder& awaited() const { return awaited_; }
  WalkBack& walk() { return walk_; }

 private:
  DeviceTimeline* DeviceOf(const StepInterval& step);
  void ChargeGap(const StepInterval& step, HostNs from, HostNs to, const GpuOp* ends_with, bool in_flight,
                 ChargeSheet* sheet, StepBudget* budget);
  void SumHidden(const StepInterval& step, StepBudget* budget);
  int64_t BusyWithin(HostNs from, HostNs to) const;

  Timeline& timeline_;
  AwaitedWorkFinder awaited_;
  WalkBack walk_;
  Options options_;
  int64_t shortest_idle_ns_ = 0;
  HostNs last_begin_ = INT64_MIN;  // of the last step attributed

  // Scratch of the step in work.
  struct ActiveOp {
    HostNs end;
    Line line;
    CauseKey cause;
  };
  struct BusySpan {
    HostNs begin, end;
    int64_t busy_before_ns;  // of all spans before
  };
  std::vector<ActiveOp> active_;
  std::vector<BusySpan> busy_;
  std::vector<ThreadIndex> critical_threads_;
};

}  // namespace stallscope
