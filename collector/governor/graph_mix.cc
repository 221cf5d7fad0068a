#include "collector/governor/graph_mix.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/timeline/kernel_class.h"

namespace stallscope {
namespace {

constexpr size_t kMostGraphs = 1024;
constexpr StringId kMaxCachedName = 1 << 20;
constexpr double kHalfLifeNs = 30e9;    // of a whole replay's weight
constexpr double kNewest = 0.3;         // weight of the newest replay in what is known of a graph
constexpr double kAnotherGraph = 0.15;  // a share that jumps by so much: the id was given to another graph

Line LineOfCopy(wire::CopyKind kind) {
  switch (kind) {
    case wire::CopyKind::kHostToDevice:
      return Line::kGpuCopyH2d;
    case wire::CopyKind::kDeviceToHost:
      return Line::kGpuCopyD2h;
    case wire::CopyKind::kPeerToPeer:
      return Line::kGpuCopyP2p;
    default:
      return Line::kGpuCopyD2d;
  }
}

double Decayed(double weight, HostNs from, HostNs to) {
  return to > from ? weight * std::exp2(-static_cast<double>(to - from) / kHalfLifeNs) : weight;
}

}  // namespace

Line GraphMix::LineOf(const GpuOpEvent& op) {
  if (op.kind == wire::GpuOpKind::kMemset) return Line::kGpuMemset;
  if (op.kind == wire::GpuOpKind::kCopy) return LineOfCopy(op.copy_kind);
  if (op.name == 0) return Line::kGpuOther;
  if (op.name >= kMaxCachedName) return ClassifyKernel(names_->String(op.name));
  if (op.name >= line_of_name_.size()) line_of_name_.resize(op.name + 1, Line::kCount);
  Line& line = line_of_name_[op.name];
  if (line == Line::kCount) line = ClassifyKernel(names_->String(op.name));
  return line;
}

GraphMix::Graph* GraphMix::GraphOf(uint32_t id) {
  const auto found = graphs_.find(id);
  if (found != graphs_.end()) return &found->second;
  if (graphs_.size() >= kMostGraphs) {
    graphs_.erase(std::min_element(graphs_.begin(), graphs_.end(),
                                   [](const auto& a, const auto& b) { return a.second.whole_at < b.second.whole_at; }));
  }
  return &graphs_[id];
}

void GraphMix::OnOp(const GpuOpEvent& op) {
  if (op.graph == 0 || op.end < op.begin) return;
  if (op.kind == wire::GpuOpKind::kGraph) {
    Graph* graph = GraphOf(op.graph);
    CheckIdentity(op.correlation, graph);
    graph->whole_ns = Decayed(graph->whole_ns, graph->whole_at, op.end) + static_cast<double>(op.end - op.begin);
    graph->whole_at = std::max(graph->whole_at, op.end);
    return;
  }
  if (op.kind != wire::GpuOpKind::kKernel && op.kind != wire::GpuOpKind::kCopy && op.kind != wire::GpuOpKind::kMemset) {
    return;
  }
  Graph* graph = GraphOf(op.graph);
  CheckIdentity(op.correlation, graph);
  if (graph->correlation != op.correlation) {
    Learn(graph);
    graph->correlation = op.correlation;
    graph->node_ns = {};
    graph->first_begin = op.begin;
    graph->last_end = op.end;
  }
  graph->node_ns[static_cast<size_t>(LineOf(op))] += op.end - op.begin;
  graph->first_begin = std::min(graph->first_begin, op.begin);
  graph->last_end = std::max(graph->last_end, op.end);
  graph->whole_at = std::max(graph->whole_at, op.end);
}

void GraphMix::OnLaunch(uint32_t correlation, uint64_t executable_graph) {
  if (correlation != 0) launches_[correlation % launches_.size()] = {correlation, executable_graph};
}

void GraphMix::CheckIdentity(uint32_t correlation, Graph* graph) {
  if (correlation == 0 || graph->checked == correlation) return;
  graph->checked = correlation;
  const LaunchOf& launch = launches_[correlation % launches_.size()];
  if (launch.correlation != correlation || launch.executable_graph == 0) return;
  if (graph->executable_graph != 0 && graph->executable_graph != launch.executable_graph) {
    ++reused_ids_;
    *graph = {};
    graph->checked = correlation;
  }
  graph->executable_graph = launch.executable_graph;
}

// A replay is whole when the next one begins; the first of a window may have been cut, so it counts only until then.
void GraphMix::Learn(Graph* graph) {
  int64_t nodes_ns = 0;
  for (const int64_t ns : graph->node_ns) nodes_ns += ns;
  if (graph->correlation == 0 || nodes_ns <= 0) return;
  // Nodes of parallel branches overlap: then they share the length by their durations.
  const double length_ns = static_cast<double>(std::max(nodes_ns, graph->last_end - graph->first_begin));
  Shares shares = {};
  double furthest = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i] = static_cast<double>(graph->node_ns[i]) / length_ns;
    furthest = std::max(furthest, std::abs(shares[i] - graph->shares[i]));
  }
  if (graph->replays < 2 || furthest > kAnotherGraph) {
    graph->shares = shares;
    graph->square_deviation = {};
    graph->replays = furthest > kAnotherGraph ? 1 : graph->replays + 1;
  } else {
    for (size_t i = 0; i < shares.size(); ++i) {
      const double deviation = shares[i] - graph->shares[i];
      graph->shares[i] += kNewest * deviation;
      graph->square_deviation[i] += kNewest * (deviation * deviation - graph->square_deviation[i]);
    }
    ++graph->replays;
  }
  graph->learnt_at = graph->last_end;
}

std::string GraphMix::Split(HostNs now, LineSums* lines) const {
  int64_t& whole = (*lines)[static_cast<size_t>(Line::kGpuGraph)];
  if (whole <= 0) return {};
  Shares mix = {};
  double weight = 0, known_weight = 0, spread = 0;
  uint64_t replays = 0, graphs = 0;
  HostNs oldest = now;
  for (const auto& [id, graph] : graphs_) {
    const double graph_weight = Decayed(graph.whole_ns, graph.whole_at, now);
    weight += graph_weight;
    if (graph.replays == 0 || graph_weight <= 0) continue;
    known_weight += graph_weight;
    for (size_t i = 0; i < mix.size(); ++i) {
      mix[i] += graph_weight * graph.shares[i];
      spread = std::max(spread, std::sqrt(graph.square_deviation[i]));
    }
    replays += graph.replays;
    ++graphs;
    oldest = std::min(oldest, graph.learnt_at);
  }
  if (weight <= 0 || known_weight <= 0) return {};
  const int64_t before = whole;
  for (size_t i = 0; i < mix.size(); ++i) {
    const auto moved = std::min(whole, static_cast<int64_t>(static_cast<double>(before) * mix[i] / weight));
    (*lines)[i] += moved;
    whole -= moved;
  }
  const double age_s = static_cast<double>(std::max<HostNs>(0, now - oldest)) / 1e9;
  return absl::StrCat("gpu.graph is split by an estimate from ", replays, " traced replays of ", graphs,
                      graphs == 1 ? " graph" : " graphs",
                      absl::StrFormat(", up to %.0f s old, spread %.1f points", age_s, spread * 100),
                      known_weight < weight * 0.999 ? absl::StrFormat("; %.0f %% of graph time has not been traced yet",
                                                                      100 - 100 * known_weight / weight)
                                                    : "");
}

}  // namespace stallscope
