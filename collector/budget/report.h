// The stall budget of a window, as every view shows it. Views do no arithmetic on stalls beyond division for display.
//
// Written by: ProcessAnalysis. Read by: the JSON writer (schema stallscope.budget/1), the terminal view, `stallscope
// budget`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/base/line.h"
#include "collector/memory/memory_report.h"

namespace stallscope {

struct SyncReport {
  std::string name;  // "cudaDeviceSynchronize"
  uint64_t calls = 0;
  int64_t total_ns = 0;
  int64_t over_wait_ns = 0;           // after the waited-for work had ended, beyond the skew margin
  int64_t idle_inside_ns = 0;         // length less the time in which the awaited work ran inside
  int64_t unneeded_ns = 0;            // spent on work that ended after the last copy the host then used
  int64_t within_clock_error_ns = 0;  // after it had ended, in waits whose over-wait is no longer than the margin
};

struct BlockedThread {  // who is stuck now, from the current-wait slots
  uint32_t tid = 0;
  std::string thread_name, call;
  uint64_t object = 0;
  int64_t for_ns = 0;
  std::string where;  // the functions it was called from, innermost first; "" when no stack was taken
};

struct LineReport {
  int64_t ns = 0;         // exclusive; all lines sum to ProcessReport::wall_ns exactly
  int64_t hidden_ns = 0;  // host time behind GPU work, never part of the sum
  std::string note;       // who or what, when one cause dominates: "cudaDeviceSynchronize, MainThread"
};

// Something that went missing or was not believed (health_causes.h); cumulative since the process began.
struct HealthCause {
  std::string name, meaning;  // "gpu_zero_time", "GPU records without times: ..."
  uint64_t count = 0;
};

// The agent's cost governor. Cost and limit are shares of wall time.
struct GovernorReport {
  bool known = false;  // false: no CUPTI in the process, or nothing heard yet
  std::string asked_level, why;
  bool less_than_asked = false, node_window = false;
  double cost_share = 0, limit_share = 0;
  uint32_t callback_ns = 0;  // what CUPTI spends around one callback; 0: not measured
};

// Batches that the server told of in range texts, added up over the window.
struct BatchReport {
  std::string source;  // "vLLM"; "": none were told of
  uint64_t batches = 0;
  double decoding_requests = 0, prefilling_requests = 0;  // means
  double decoding_tokens = 0, prefilling_tokens = 0;      // scheduled; means, 0 where not told
};

struct ProcessReport {
  uint32_t pid = 0;
  std::string process_name;
  bool simulated_gpu = false;
  std::string gpu;  // "NVIDIA H200", "simulated GPU", "" when none
  uint64_t steps = 0, tokens = 0;
  std::string tokens_source;        // "marker", "engine", "copy size", "steps only"
  std::string segmentation_method;  // "token delivery", "graph cadence", "marker", "engine", "none"
  double segmentation_confidence = 0;
  std::string segmentation_why;  // one sentence; when there are no steps: what is missing for one
  HostNs begin = 0, end = 0;
  int64_t wall_ns = 0;
  LineReport lines[kLineCount];
  int64_t itl_p50_ns = 0, itl_p90_ns = 0, itl_p99_ns = 0, itl_max_ns = 0;
  std::vector<SyncReport> syncs;  // by total, largest first
  struct {
    uint64_t events = 0, dropped = 0, late = 0, clamped = 0, unmatched = 0;
  } health;
  std::vector<HealthCause> health_causes;  // every cause there is, also those that never happened
  GovernorReport governor;
  BatchReport batch;
  int64_t gpu_clock_uncertainty_ns =
      -1;                       // of GPU times against the host's clock; -1: no GPU times, or nothing heard yet
  std::string agent_level;      // "budget", "kernels", "nodes"
  double agent_cost_share = 0;  // agent CPU / process CPU
  std::vector<BlockedThread> blocked;
  MemoryReport memory;
  std::vector<CodeLoadReport> code_loads;  // by total, largest first
  std::vector<ContextReport> contexts;
  std::vector<NamedReport> names;    // what the program called its streams, contexts and devices
  std::vector<std::string> notices;  // "CUPTI is held by nsys: GPU lines start again when it ends"
};

struct BudgetReport {
  HostNs begin = 0, end = 0;
  std::vector<ProcessReport> processes;
};

}  // namespace stallscope
