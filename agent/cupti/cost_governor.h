// Keeps what the agent costs the program under a limit, and spends what is left of it on learning the executable graphs.
//
// What it reads, each round: CPU time of the agent's own threads, time its callbacks took on the program's threads
// (sampled), and how much longer graph launches take while each node is traced. What it decides: the level in force, and
// whether a window of node-level records is open. Units: nanoseconds of CLOCK_MONOTONIC; cost in millionths of wall time.
// The order in which detail goes, when windows alone do not explain the cost: nodes, kernels, budget, then GPU records
// altogether (calls stay); back up one rung at a time, each failure doubling the wait. Pure; the keeper's thread.
#pragma once

#include <cstdint>

#include "proto/wire/shm.h"

namespace stallscope::agent {

class CostGovernor {
 public:
  // Cumulative.
  struct Observed {
    uint64_t now_ns = 0;
    uint64_t own_cpu_ns = 0;      // the agent's threads
    uint64_t on_threads_ns = 0;   // the agent's code on the program's threads
    uint64_t graph_launches = 0;  // and the time they took, as the program sees it
    uint64_t graph_launch_ns = 0;
    bool unlearned_graphs = false;  // graphs ran of which no node was ever seen
  };
  enum class Reason : uint8_t { kAsked, kCost };
  struct Decision {
    wire::Level level = wire::Level::kOff;
    bool gpu_records = true;
    bool window = false;
    Reason reason = Reason::kAsked;
    uint32_t cost_ppm = 0;  // over the last ten seconds or so
  };

  static constexpr uint32_t kDefaultLimitPpm = 10'000;
  static constexpr uint64_t kWindowNs = 60'000'000;
  static constexpr uint64_t kLongestWindowNs = 500'000'000;
  static constexpr uint32_t kReplaysWanted = 3;
  static constexpr uint64_t kRefreshNs = 10'000'000'000;

  void SetLimit(uint32_t limit_ppm) noexcept { limit_ppm_ = limit_ppm != 0 ? limit_ppm : kDefaultLimitPpm; }
  // What the user wants; starts at the top again.
  void Ask(wire::Level level) noexcept;
  // A window as soon as possible, whatever it costs; asked for by the user.
  void AskForWindow(uint64_t length_ns) noexcept { asked_window_ns_ = length_ns; }

  Decision Look(const Observed& observed) noexcept;
  wire::Level asked() const noexcept { return asked_; }

 private:
  void MeasureCost(const Observed& observed, uint64_t passed_ns) noexcept;
  void MoveOnLadder(uint64_t now_ns) noexcept;
  void OpenOrCloseWindow(const Observed& observed) noexcept;
  wire::Level LevelAtRung() const noexcept;

  uint32_t limit_ppm_ = kDefaultLimitPpm;
  wire::Level asked_ = wire::Level::kBudget;
  uint32_t rung_ = 0;  // how many steps below what was asked for
  bool begun_ = false;
  Observed last_;
  double cost_share_ = 0;   // decaying average over kMemoryNs
  double cost_weight_ = 0;  // of what it is an average; below 1 in the first seconds
  double credit_ns_ = 0;    // what may be spent on windows
  double plain_launch_ns_ = 0;
  uint64_t over_since_ns_ = 0, under_since_ns_ = 0;
  uint64_t wait_before_rise_ns_ = 30'000'000'000;

  bool window_ = false;
  uint64_t window_begin_ns_ = 0, window_length_ns_ = kWindowNs, asked_window_ns_ = 0;
  uint64_t window_begin_launches_ = 0, last_window_end_ns_ = 0;
  double window_cost_ns_ = 0;
  double window_cost_share_ = 0.7;  // of its length; the worst that was published for a small model, until measured
};

}  // namespace stallscope::agent
