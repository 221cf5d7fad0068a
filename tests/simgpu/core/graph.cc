#include "tests/simgpu/core/graph.h"

#include <atomic>
#include <utility>

namespace simgpu {
namespace {

std::atomic<uint32_t> next_graph_id{1};
std::atomic<uint64_t> next_node_id{1};

}  // namespace

Graph* NewGraph() {
  auto* graph = new Graph;
  graph->id = next_graph_id.fetch_add(1, std::memory_order_relaxed);
  return graph;
}

GraphNode* AppendNode(Graph* graph, Work work, std::vector<int> dependencies) {
  const uint64_t id = next_node_id.fetch_add(1, std::memory_order_relaxed);
  return &graph->nodes.emplace_back(GraphNode{id, std::move(work), std::move(dependencies), TakeGivenTiming()});
}

GraphExec* Instantiate(const Graph& graph) {
  auto* exec = new GraphExec;
  exec->id = next_graph_id.fetch_add(1, std::memory_order_relaxed);
  exec->nodes.assign(graph.nodes.begin(), graph.nodes.end());
  for (GraphNode& node : exec->nodes) node.id = next_node_id.fetch_add(1, std::memory_order_relaxed);
  return exec;
}

UpdateResult Update(GraphExec* exec, const Graph& graph) {
  if (exec->nodes.size() != graph.nodes.size()) return UpdateResult::kTopologyChanged;
  for (size_t i = 0; i < exec->nodes.size(); ++i) {
    if (exec->nodes[i].work.index() != graph.nodes[i].work.index()) return UpdateResult::kNodeTypeChanged;
    if (exec->nodes[i].dependencies != graph.nodes[i].dependencies) return UpdateResult::kTopologyChanged;
  }
  for (size_t i = 0; i < exec->nodes.size(); ++i) {
    exec->nodes[i].work = graph.nodes[i].work;
    exec->nodes[i].given = graph.nodes[i].given;
  }
  return UpdateResult::kDone;
}

}  // namespace simgpu
