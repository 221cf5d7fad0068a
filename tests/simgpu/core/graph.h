// Graphs: what was captured or built node by node, and its executable copy.
//
// Not thread safe, as the CUDA functions above it.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_GRAPH_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_GRAPH_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/simgpu/core/given_timing.h"
#include "tests/simgpu/core/work.h"

namespace simgpu {

struct Graph;

struct GraphNode {
  uint64_t id = 0;  // unique in the process, as CUPTI's graphNodeId
  Work work;
  std::vector<int> dependencies;  // indices; in an executable graph of earlier nodes
  GivenTiming given;              // its begin counts from the graph's
  Graph* graph = nullptr;         // that it belongs to; null in an executable graph
  int index = 0;                  // there
  uint64_t source_id = 0;         // the node that this one was copied from
  bool removed = false;           // destroyed by the program; its place stays
  bool enabled = true;            // executable graphs only: a disabled node does nothing
  std::shared_ptr<Work> resting;  // what a disabled node would do
};

// A program's cudaGraph_t. A deque: node addresses are handed out as cudaGraphNode_t.
struct Graph {
  uint32_t id = 0;
  std::deque<GraphNode> nodes;
  std::vector<std::shared_ptr<void>> user_objects;  // one for each reference that the graph holds
};

// A program's cudaGraphExec_t: nodes in an order in which they could run, child graphs in place.
struct GraphExec {
  uint32_t id = 0;  // unique in the process, shared with no Graph: records name it as graphId
  std::vector<GraphNode> nodes;
  uint64_t flags = 0;
  std::vector<std::shared_ptr<void>> user_objects;
};

Graph* NewGraph();
GraphNode* AppendNode(Graph* graph, Work work, std::vector<int> dependencies);
void RemoveNode(GraphNode* node);
// Edges by index; false when one is there already (Add) or not there (Remove).
bool AddDependency(GraphNode* node, int dependency);
bool RemoveDependency(GraphNode* node, int dependency);
std::vector<int> Dependents(const GraphNode& node);

Graph* Clone(const Graph& graph);
// The copy of a node in a clone; null when the clone was not made from the node's graph.
GraphNode* FindInClone(Graph* clone, const GraphNode& original);
// Executable copy with ids of its own; null when the nodes depend on one another in a circle.
GraphExec* Instantiate(const Graph& graph);
// What a node of a graph became; null when it is not part of it.
GraphNode* FindInExec(GraphExec* exec, const GraphNode& source);
// The nodes of the child graph that a child node stands for.
std::vector<GraphNode*> FindChildInExec(GraphExec* exec, const GraphNode& child_node);

void SetEnabled(GraphNode* exec_node, bool enabled);

enum class UpdateResult : uint8_t { kDone, kTopologyChanged, kNodeTypeChanged };
// Takes over the parameters of a graph with the same shape; changes nothing otherwise.
UpdateResult Update(GraphExec* exec, const Graph& graph);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_GRAPH_H_
