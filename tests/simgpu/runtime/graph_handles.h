// Between CUDA's graph handles and the core's graphs, for the files that implement graph functions.
#ifndef STALLSCOPE_TESTS_SIMGPU_RUNTIME_GRAPH_HANDLES_H_
#define STALLSCOPE_TESTS_SIMGPU_RUNTIME_GRAPH_HANDLES_H_

#include <cuda_runtime_api.h>

#include <vector>

#include "tests/simgpu/core/graph.h"

namespace simgpu::runtime {

inline Graph* FindGraph(cudaGraph_t handle) { return reinterpret_cast<Graph*>(handle); }
inline GraphExec* FindExec(cudaGraphExec_t handle) { return reinterpret_cast<GraphExec*>(handle); }
inline GraphNode* FindNode(cudaGraphNode_t handle) { return reinterpret_cast<GraphNode*>(handle); }
inline cudaGraphNode_t HandleOf(GraphNode* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

// Indices of the nodes that handles name; false when one is of another graph.
bool IndicesOf(const Graph* graph, const cudaGraphNode_t* handles, size_t count, std::vector<int>* indices);
// Fills the caller's array as the graph queries do: all that fit, null behind them, and the full count.
void GiveNodes(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* handles, size_t* count);

// What the parameters of a node say as work. A false result means that they make no sense.
bool MakeWork(const cudaKernelNodeParams& parameters, Work* work);
bool MakeWork(const cudaMemcpy3DParms& parameters, Work* work);
bool MakeWork(const cudaMemsetParams& parameters, Work* work);
// All node types that cudaGraphAddNode takes and that are simulated.
cudaError_t MakeWork(const cudaGraphNodeParams& parameters, Work* work);

// The node of an executable graph that a node became, if its work is of type T: else why not.
template <typename T>
cudaError_t FindExecWork(cudaGraphExec_t exec, cudaGraphNode_t node, T** work) {
  if (exec == nullptr || node == nullptr) return cudaErrorInvalidValue;
  GraphNode* found = FindInExec(FindExec(exec), *FindNode(node));
  *work = found == nullptr ? nullptr : std::get_if<T>(&found->work);
  return *work == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

}  // namespace simgpu::runtime

#endif  // STALLSCOPE_TESTS_SIMGPU_RUNTIME_GRAPH_HANDLES_H_
