// Graphs as a whole: making, copying, instantiating, updating, launching.
#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/graph_handles.h"
#include "tests/simgpu/runtime/nested_driver_call.h"

namespace simgpu::runtime {
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int) {
  *graph = reinterpret_cast<cudaGraph_t>(NewGraph());
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete FindGraph(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  if (clone == nullptr || original == nullptr) return cudaErrorInvalidValue;
  *clone = reinterpret_cast<cudaGraph_t>(Clone(*FindGraph(original)));
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  if (exec == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  Simulator& simulator = Simulator::Get();
  const Config& config = simulator.config();
  GraphExec* created = Instantiate(*FindGraph(graph));
  if (created == nullptr) return cudaErrorInvalidValue;  // nodes that depend on one another in a circle
  created->flags = flags;
  *exec = reinterpret_cast<cudaGraphExec_t>(created);
  simulator.SpendHostTime(config.graph_instantiate_ns + config.graph_instantiate_ns_per_node * created->nodes.size());
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return runtime::cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  const cudaError_t error = runtime::cudaGraphInstantiate(exec, graph, params == nullptr ? 0 : params->flags);
  if (params != nullptr) {
    params->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  }
  return error;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  if (exec == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  Simulator& simulator = Simulator::Get();
  const UpdateResult result = Update(FindExec(exec), *FindGraph(graph));
  simulator.SpendHostTime(simulator.config().graph_update_ns_per_node * FindExec(exec)->nodes.size());
  if (info != nullptr) {
    *info = {};
    if (result == UpdateResult::kTopologyChanged) info->result = cudaGraphExecUpdateErrorTopologyChanged;
    if (result == UpdateResult::kNodeTypeChanged) info->result = cudaGraphExecUpdateErrorNodeTypeChanged;
  }
  return result == UpdateResult::kDone ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  if (exec == nullptr || flags == nullptr) return cudaErrorInvalidValue;
  *flags = FindExec(exec)->flags;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete FindExec(exec);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  if (exec == nullptr) return cudaErrorInvalidValue;
  Stream* stream = FindStream(handle);
  if (Capture* capture = stream->capture.load(std::memory_order_acquire)) {
    // Inside a capture the launch becomes a child graph.
    auto child = std::make_shared<Graph>();
    for (const GraphNode& node : FindExec(exec)->nodes) AppendNode(child.get(), node.work, node.dependencies);
    capture->Append(stream, ChildWork{child});
    return cudaSuccess;
  }
  if (const cudaError_t error = CheckLegacyStream(stream); error != cudaSuccess) return error;
  if (__builtin_expect(NestsDriverCall(), 0)) {
    NestedGraphLaunch nested(exec, handle);
    Simulator::Get().SubmitGraph(stream, *FindExec(exec));
    return cudaSuccess;
  }
  Simulator::Get().SubmitGraph(stream, *FindExec(exec));
  return cudaSuccess;
}

}  // namespace simgpu::runtime
