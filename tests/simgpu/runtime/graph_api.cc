// Stream capture and graphs.
#include <deque>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/nested_driver_call.h"

namespace simgpu::runtime {
namespace {

Graph* FindGraph(cudaGraph_t handle) { return reinterpret_cast<Graph*>(handle); }
GraphExec* FindExec(cudaGraphExec_t handle) { return reinterpret_cast<GraphExec*>(handle); }

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  if (handle == nullptr || handle == cudaStreamLegacy) return cudaErrorStreamCaptureUnsupported;
  return Simulator::Get().BeginCapture(FindStream(handle)) ? cudaSuccess : cudaErrorIllegalState;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  Stream* stream = FindStream(handle);
  const Capture* capture = stream->capture.load(std::memory_order_acquire);
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin() != stream) return cudaErrorStreamCaptureUnmatched;
  Graph* captured = Simulator::Get().EndCapture(stream);
  *graph = reinterpret_cast<cudaGraph_t>(captured);
  return captured == nullptr ? cudaErrorStreamCaptureUnjoined : cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return cudaErrorInvalidValue;
  const bool capturing = FindStream(handle)->capture.load(std::memory_order_acquire) != nullptr;
  *status = capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* dependency_count) {
  Stream* stream = FindStream(handle);
  Capture* capture = stream->capture.load(std::memory_order_acquire);
  *status = capture == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  if (capture == nullptr) return cudaSuccess;
  if (id != nullptr) *id = capture->id();
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(capture->graph());
  // Valid until the next call on this thread, which is less than the real promise and enough for capture helpers.
  thread_local std::vector<cudaGraphNode_t> nodes;
  nodes.clear();
  for (int node : capture->Tail(stream)) {
    nodes.push_back(reinterpret_cast<cudaGraphNode_t>(&capture->graph()->nodes[static_cast<size_t>(node)]));
  }
  if (dependencies != nullptr) *dependencies = nodes.data();
  if (edges != nullptr) *edges = nullptr;
  if (dependency_count != nullptr) *dependency_count = nodes.size();
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int) {
  *graph = reinterpret_cast<cudaGraph_t>(NewGraph());
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete FindGraph(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  Graph* graph = FindGraph(handle);
  if (nodes != nullptr) {
    for (size_t i = 0; i < *count; ++i) {
      nodes[i] = i < graph->nodes.size() ? reinterpret_cast<cudaGraphNode_t>(&graph->nodes[i]) : nullptr;
    }
  }
  *count = graph->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  const Work& work = reinterpret_cast<const GraphNode*>(handle)->work;
  constexpr cudaGraphNodeType kTypes[] = {cudaGraphNodeTypeEmpty, cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,
                                          cudaGraphNodeTypeMemset};
  *type = kTypes[work.index()];
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (exec == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  Simulator& simulator = Simulator::Get();
  const Config& config = simulator.config();
  GraphExec* created = Instantiate(*FindGraph(graph));
  *exec = reinterpret_cast<cudaGraphExec_t>(created);
  simulator.SpendHostTime(config.graph_instantiate_ns + config.graph_instantiate_ns_per_node * created->nodes.size());
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return runtime::cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  const cudaError_t error = runtime::cudaGraphInstantiate(exec, graph, 0);
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

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete FindExec(exec);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr) return cudaErrorInvalidValue;
  if (__builtin_expect(Hooks() != nullptr, 0)) {
    NestedGraphLaunch nested(exec, stream);
    Simulator::Get().SubmitGraph(FindStream(stream), *FindExec(exec));
    return cudaSuccess;
  }
  Simulator::Get().SubmitGraph(FindStream(stream), *FindExec(exec));
  return cudaSuccess;
}

}  // namespace simgpu::runtime
