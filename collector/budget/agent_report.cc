#include "collector/budget/agent_report.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/wire/shm.h"

namespace stallscope {
namespace {

using wire::Counter;

struct Named {
  Counter counter;
  const char* name;
  const char* meaning;
};

// In the order in which they are shown. Names stay; new ones are added.
constexpr Named kNamed[] = {
    {Counter::kGpuZeroTime, "gpu_zero_time", "GPU records without times: CUPTI had no room on the device to take them"},
    {Counter::kGpuReversedTime, "gpu_reversed_time", "GPU records that ended before they began"},
    {Counter::kGpuBeforeLaunch, "gpu_before_launch", "GPU records that began before their launch or their process"},
    {Counter::kGpuOtherClock, "gpu_other_clock", "GPU records with times of another clock"},
    {Counter::kGpuUnfinished, "gpu_unfinished", "GPU records that came before their work had ended"},
    {Counter::kGpuUnknownKind, "gpu_unknown_kind", "GPU records of a kind that the agent does not know"},
    {Counter::kGpuLate, "gpu_late", "GPU records that came more than 2 s after their work had ended"},
    {Counter::kCuptiDropped, "cupti_dropped", "GPU records that CUPTI dropped: it had no buffer"},
    {Counter::kCuptiBuffersLost, "cupti_buffers_lost", "buffers with GPU records that another client of CUPTI got"},
    {Counter::kCuptiBuffersWithheld, "cupti_buffers_withheld", "buffers that CUPTI did not give back at the end"},
    {Counter::kCuptiSwitchedOff, "cupti_switched_off", "times another client of CUPTI switched GPU records off"},
    {Counter::kCuptiErrors, "cupti_errors", "calls into CUPTI that failed"},
    {Counter::kFinalFlushTimeouts, "final_flush_timeouts", "last flushes that took longer than the program may wait"},
    {Counter::kSlotsExhausted, "slots_exhausted", "times a thread found no slot: its events are missing"},
    {Counter::kStringsExhausted, "strings_exhausted", "names that did not fit into the agent's table"},
    {Counter::kFramesDropped, "frames_dropped", "frames given up because the collector went away"},
    {Counter::kChildWaits, "child_waits", "waits of a forked child before it was set up again"},
    {Counter::kInternal, "internal", "events skipped in a state that should not happen"},
};

// "budget"; "unknown" for a level of a newer agent.
const char* LevelName(uint32_t level) {
  constexpr const char* kLevels[] = {"off", "budget", "kernels", "nodes"};
  return level < std::size(kLevels) ? kLevels[level] : "unknown";
}

GovernorReport DescribeGovernor(const HealthEvent::Governor& governor) {
  constexpr double kMillion = 1e6;
  GovernorReport report;
  report.known = true;
  report.asked_level = LevelName(governor.asked_level);
  report.cost_share = governor.cost_ppm / kMillion;
  report.limit_share = governor.limit_ppm / kMillion;
  report.less_than_asked = governor.why != 0;
  report.node_window = governor.node_window;
  report.callback_ns = governor.callback_ns;
  const std::string limit = absl::StrFormat("the limit of %.1f %%", report.limit_share * 100);
  if (governor.why == 0 && governor.cost_ppm > governor.limit_ppm) {
    report.why = absl::StrCat("as asked for; detail goes if the cost stays over ", limit);
  } else if (governor.why == 0) {
    report.why = "as asked for";
  } else if (governor.why == 1) {
    report.why = absl::StrCat("level ", report.asked_level, " was asked for and cost more than ", limit);
  } else {
    report.why = absl::StrCat("no GPU records: even level budget cost more than ", limit);
  }
  return report;
}

}  // namespace

std::vector<HealthCause> HealthCauses(const HealthEvent& health, const OwnCauses& own) {
  std::vector<HealthCause> causes;
  causes.push_back({"ring_lost", "records overwritten before they were read", health.ring_lost});
  causes.push_back({"gpu_never_delivered", "launches whose GPU records never came", own.never_delivered});
  causes.push_back({"gpu_graph_id_reused", "graph ids that came back with another executable graph: learnt anew",
                    own.graph_ids_reused});
  for (const Named& named : kNamed) {
    causes.push_back({named.name, named.meaning, health.counters[static_cast<size_t>(named.counter)]});
  }
  return causes;
}

void ReportAgent(const AgentState& agent, ProcessReport* report) {
  const HealthEvent& health = *agent.health;
  report->agent_level = LevelName(agent.level);
  if (health.process_cpu_ns > 0) {
    report->agent_cost_share = static_cast<double>(health.agent_cpu_ns) / static_cast<double>(health.process_cpu_ns);
  }
  report->health_causes = HealthCauses(health, agent.own);
  if (!report->gpu.empty()) report->gpu_clock_uncertainty_ns = agent.gpu_clock_uncertainty_ns;
  if (health.governor.known) report->governor = DescribeGovernor(health.governor);
}

void AddBatch(const BatchComposition& batch, BatchSums* sums) {
  ++sums->batches;
  sums->context_requests += batch.context_requests;
  sums->generation_requests += batch.generation_requests;
  sums->context_tokens += batch.context_tokens.value_or(0);
  sums->generation_tokens += batch.generation_tokens.value_or(0);
}

BatchReport MeansOf(const std::string& source, const BatchSums& sums) {
  if (sums.batches == 0) return {};
  const auto mean = [&sums](uint64_t sum) { return static_cast<double>(sum) / static_cast<double>(sums.batches); };
  return {source,
          sums.batches,
          mean(sums.generation_requests),
          mean(sums.context_requests),
          mean(sums.generation_tokens),
          mean(sums.context_tokens)};
}

}  // namespace stallscope
