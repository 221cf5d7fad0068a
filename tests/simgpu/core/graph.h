// Graphs: what was captured, and its executable copy.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_GRAPH_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_GRAPH_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/simgpu/core/given_timing.h"
#include "tests/simgpu/core/work.h"

namespace simgpu {

struct GraphNode {
  uint64_t id = 0;  // unique in the process, as CUPTI's graphNodeId
  Work work;
  std::vector<int> dependencies;  // indices of earlier nodes
  GivenTiming given;              // its begin counts from the graph's
};

// A program's cudaGraph_t. A deque: node addresses are handed out as cudaGraphNode_t.
struct Graph {
  uint32_t id = 0;
  std::deque<GraphNode> nodes;
};

// A program's cudaGraphExec_t.
struct GraphExec {
  uint32_t id = 0;  // unique in the process, shared with no Graph: records name it as graphId
  std::vector<GraphNode> nodes;
};

Graph* NewGraph();
GraphNode* AppendNode(Graph* graph, Work work, std::vector<int> dependencies);
// Executable copy with ids of its own.
GraphExec* Instantiate(const Graph& graph);

enum class UpdateResult : uint8_t { kDone, kTopologyChanged, kNodeTypeChanged };
// Takes over the parameters of a graph with the same shape; changes nothing otherwise.
UpdateResult Update(GraphExec* exec, const Graph& graph);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_GRAPH_H_
