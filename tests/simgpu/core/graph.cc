#include "tests/simgpu/core/graph.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace simgpu {
namespace {

std::atomic<uint32_t> next_graph_id{1};
std::atomic<uint64_t> next_node_id{1};

uint64_t NewNodeId() { return next_node_id.fetch_add(1, std::memory_order_relaxed); }

// Indices of the nodes in an order in which each follows what it depends on, as near to the order of their making as
// possible. Shorter than the graph when there is a circle.
std::vector<int> RunningOrder(const Graph& graph) {
  std::vector<int> order;
  std::vector<bool> placed(graph.nodes.size(), false);
  for (bool moved = true; moved;) {
    moved = false;
    for (const GraphNode& node : graph.nodes) {
      const auto index = static_cast<size_t>(node.index);
      if (node.removed || placed[index]) continue;
      const bool ready = std::all_of(node.dependencies.begin(), node.dependencies.end(),
                                     [&](int dependency) { return placed[static_cast<size_t>(dependency)]; });
      if (!ready) continue;
      placed[index] = moved = true;
      order.push_back(node.index);
    }
  }
  return order;
}

size_t LivingNodes(const Graph& graph) {
  return static_cast<size_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& node) { return !node.removed; }));
}

// Appends a graph's nodes to `flat`, child graphs in place. `behind` is what the graph's first nodes depend on; `last`
// gets the indices of its last nodes. False when there is a circle.
bool Flatten(const Graph& graph, const std::vector<int>& behind, std::vector<GraphNode>* flat, std::vector<int>* last) {
  const std::vector<int> order = RunningOrder(graph);
  if (order.size() != LivingNodes(graph)) return false;
  std::vector<std::vector<int>> ends(graph.nodes.size());  // of a node, in `flat`
  std::vector<bool> has_dependents(graph.nodes.size(), false);
  for (int node_index : order) {
    const auto index = static_cast<size_t>(node_index);
    const GraphNode& node = graph.nodes[index];
    std::vector<int> dependencies;
    for (int dependency : node.dependencies) {
      has_dependents[static_cast<size_t>(dependency)] = true;
      const auto& end = ends[static_cast<size_t>(dependency)];
      dependencies.insert(dependencies.end(), end.begin(), end.end());
    }
    if (node.dependencies.empty()) dependencies = behind;
    if (const auto* child = std::get_if<ChildWork>(&node.work)) {
      if (!Flatten(*child->graph, dependencies, flat, &ends[index])) return false;
      if (ends[index].empty()) ends[index] = dependencies;
      continue;
    }
    ends[index] = {static_cast<int>(flat->size())};
    GraphNode copy = node;
    copy.dependencies = std::move(dependencies);
    copy.source_id = node.id;
    copy.graph = nullptr;
    flat->push_back(std::move(copy));
  }
  for (int index : order) {
    const auto& end = ends[static_cast<size_t>(index)];
    if (!has_dependents[static_cast<size_t>(index)]) last->insert(last->end(), end.begin(), end.end());
  }
  return true;
}

}  // namespace

Graph* NewGraph() {
  auto* graph = new Graph;
  graph->id = next_graph_id.fetch_add(1, std::memory_order_relaxed);
  return graph;
}

GraphNode* AppendNode(Graph* graph, Work work, std::vector<int> dependencies) {
  GraphNode node;
  node.id = NewNodeId();
  node.work = std::move(work);
  node.dependencies = std::move(dependencies);
  node.given = TakeGivenTiming();
  node.graph = graph;
  node.index = static_cast<int>(graph->nodes.size());
  return &graph->nodes.emplace_back(std::move(node));
}

void RemoveNode(GraphNode* node) {
  node->removed = true;
  node->dependencies.clear();
  for (GraphNode& other : node->graph->nodes) std::erase(other.dependencies, node->index);
}

bool AddDependency(GraphNode* node, int dependency) {
  auto& known = node->dependencies;
  if (std::find(known.begin(), known.end(), dependency) != known.end()) return false;
  known.push_back(dependency);
  return true;
}

bool RemoveDependency(GraphNode* node, int dependency) { return std::erase(node->dependencies, dependency) != 0; }

std::vector<int> Dependents(const GraphNode& node) {
  std::vector<int> found;
  for (const GraphNode& other : node.graph->nodes) {
    const auto& known = other.dependencies;
    if (std::find(known.begin(), known.end(), node.index) != known.end()) found.push_back(other.index);
  }
  return found;
}

Graph* Clone(const Graph& graph) {
  Graph* clone = NewGraph();
  clone->nodes = graph.nodes;
  clone->user_objects = graph.user_objects;
  for (GraphNode& node : clone->nodes) {
    node.graph = clone;
    node.source_id = std::exchange(node.id, NewNodeId());
    if (auto* child = std::get_if<ChildWork>(&node.work)) child->graph.reset(Clone(*child->graph));
  }
  return clone;
}

GraphNode* FindInClone(Graph* clone, const GraphNode& original) {
  const auto index = static_cast<size_t>(original.index);
  if (index >= clone->nodes.size() || clone->nodes[index].source_id != original.id) return nullptr;
  return &clone->nodes[index];
}

GraphExec* Instantiate(const Graph& graph) {
  auto* exec = new GraphExec;
  std::vector<int> last;
  if (!Flatten(graph, {}, &exec->nodes, &last)) {
    delete exec;
    return nullptr;
  }
  exec->id = next_graph_id.fetch_add(1, std::memory_order_relaxed);
  exec->user_objects = graph.user_objects;
  for (GraphNode& node : exec->nodes) node.id = NewNodeId();
  return exec;
}

GraphNode* FindInExec(GraphExec* exec, const GraphNode& source) {
  for (GraphNode& node : exec->nodes) {
    if (node.source_id == source.id) return &node;
  }
  return nullptr;
}

std::vector<GraphNode*> FindChildInExec(GraphExec* exec, const GraphNode& child_node) {
  std::vector<GraphNode*> found;
  const auto* child = std::get_if<ChildWork>(&child_node.work);
  if (child == nullptr) return found;
  for (const GraphNode& node : child->graph->nodes) {
    if (node.removed) continue;
    if (GraphNode* copy = FindInExec(exec, node)) found.push_back(copy);
  }
  return found;
}

void SetEnabled(GraphNode* node, bool enabled) {
  if (node->enabled == enabled) return;
  node->enabled = enabled;
  if (enabled) {
    node->work = std::move(*node->resting);
    node->resting.reset();
  } else {
    node->resting = std::make_shared<Work>(std::exchange(node->work, EmptyWork{}));
  }
}

UpdateResult Update(GraphExec* exec, const Graph& graph) {
  std::vector<GraphNode> nodes;
  std::vector<int> last;
  if (!Flatten(graph, {}, &nodes, &last) || exec->nodes.size() != nodes.size()) return UpdateResult::kTopologyChanged;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (exec->nodes[i].work.index() != nodes[i].work.index()) return UpdateResult::kNodeTypeChanged;
    if (exec->nodes[i].dependencies != nodes[i].dependencies) return UpdateResult::kTopologyChanged;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    exec->nodes[i].work = std::move(nodes[i].work);
    exec->nodes[i].given = nodes[i].given;
    exec->nodes[i].source_id = nodes[i].source_id;
  }
  return UpdateResult::kDone;
}

}  // namespace simgpu
