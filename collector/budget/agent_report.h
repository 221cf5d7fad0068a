// What the agent says of itself, in the report: level, cost and the governor's reason, clock error, and each thing that went
// missing or was not believed under a name of its own (`health.causes` of schema stallscope.budget/1: all names, whatever
// the count). Also the means over batches. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/budget/report.h"
#include "collector/steps/batch_composition.h"
#include "collector/windows/window_sums.h"

namespace stallscope {

// What only the collector can count.
struct OwnCauses {
  uint64_t never_delivered = 0;   // launches whose GPU records never came
  uint64_t graph_ids_reused = 0;  // graph ids that came back with another executable graph
};

// The agent counts most of them (wire::Counter). Cumulative since the process began.
std::vector<HealthCause> HealthCauses(const HealthEvent& health, const OwnCauses& own);

struct AgentState {
  uint32_t level;  // wire::Level
  int64_t gpu_clock_uncertainty_ns;
  const HealthEvent* health;
  OwnCauses own;
};
// `report->gpu` is known already.
void ReportAgent(const AgentState& agent, ProcessReport* report);

void AddBatch(const BatchComposition& batch, BatchSums* sums);
BatchReport MeansOf(const std::string& source, const BatchSums& sums);

}  // namespace stallscope
