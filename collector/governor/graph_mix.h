// What each executable graph consists of, learnt from the few replays of which every node was traced, and the split of
// gpu.graph that follows.
//
// Most replays are one record that says when the graph ran and nothing else (tracing each node costs a small model half
// of its speed). The agent opens a short window of node-level records now and then; what ran in such a replay, as shares
// of the replay's length, stands for the replays around it. It is an estimate and says so: how many replays it rests on,
// how old they are, how far they differ. Written by: ProcessAnalysis with every GPU operation of a graph. Read by: its
// report. Units: host nanoseconds, shares of 1. Single thread. Memory: at most 1024 graphs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/base/event.h"
#include "collector/base/line.h"

namespace stallscope {

class GraphMix {
 public:
  explicit GraphMix(const ProcessNames* names) : names_(names) {}

  // A graph launch, before its operations: an id that comes with another executable graph than before was used again, and
  // nothing that was learnt under it holds.
  void OnLaunch(uint32_t correlation, uint64_t executable_graph);
  // Times that happened.
  uint64_t reused_ids() const { return reused_ids_; }

  // Any operation; those that belong to no graph are passed over. Nodes of one replay share a correlation id.
  void OnOp(const GpuOpEvent& op);

  // Moves what the mixes explain of lines[gpu.graph] to the lines of the nodes. The sum stays the same to the nanosecond.
  // Returns what to tell the user; empty when nothing was split.
  std::string Split(HostNs now, LineSums* lines) const;

 private:
  using Shares = std::array<double, kLineCount>;
  struct Graph {
    // The replay whose nodes are coming in now.
    uint32_t correlation = 0;
    HostNs first_begin = 0, last_end = 0;
    LineSums node_ns = {};
    // What was learnt.
    Shares shares = {};  // of the replay's length; the rest is time between nodes
    Shares square_deviation = {};
    uint64_t replays = 0;
    HostNs learnt_at = 0;
    // Whole replays, which count the less the longer ago they were.
    double whole_ns = 0;
    HostNs whole_at = 0;
    uint64_t executable_graph = 0;  // 0: not known
    uint32_t checked = 0;           // the launch for which that was looked at
  };

  Line LineOf(const GpuOpEvent& op);
  void Learn(Graph* graph);
  Graph* GraphOf(uint32_t id);
  void CheckIdentity(uint32_t correlation, Graph* graph);

  // The last launches, by correlation id.
  struct LaunchOf {
    uint32_t correlation = 0;
    uint64_t executable_graph = 0;
  };
  std::array<LaunchOf, 4096> launches_ = {};
  uint64_t reused_ids_ = 0;
  const ProcessNames* const names_;
  std::unordered_map<uint32_t, Graph> graphs_;
  std::vector<Line> line_of_name_;
};

}  // namespace stallscope
