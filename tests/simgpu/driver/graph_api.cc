// Graphs.
#include "driver_impl.h"
#include "runtime_impl.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {
namespace {

cudaKernelNodeParams AsRuntime(const CUDA_KERNEL_NODE_PARAMS& p) {
  cudaKernelNodeParams kernel{};
  // A function or, when there is none, a kernel of a library: the same object here.
  kernel.func = p.func != nullptr ? reinterpret_cast<void*>(p.func) : reinterpret_cast<void*>(p.kern);
  kernel.gridDim = dim3(p.gridDimX, p.gridDimY, p.gridDimZ);
  kernel.blockDim = dim3(p.blockDimX, p.blockDimY, p.blockDimZ);
  kernel.sharedMemBytes = p.sharedMemBytes;
  kernel.kernelParams = p.kernelParams;
  return kernel;
}

}  // namespace

CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) { return AsResult(runtime::cudaGraphCreate(graph, flags)); }
CUresult cuGraphDestroy(CUgraph graph) { return AsResult(runtime::cudaGraphDestroy(graph)); }
CUresult cuGraphClone(CUgraph* clone, CUgraph graph) { return AsResult(runtime::cudaGraphClone(clone, graph)); }
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return AsResult(runtime::cudaGraphGetNodes(graph, nodes, count));
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return AsResult(runtime::cudaGraphGetRootNodes(graph, nodes, count));
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return AsResult(runtime::cudaGraphNodeGetType(node, reinterpret_cast<cudaGraphNodeType*>(type)));
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return AsResult(runtime::cudaGraphAddDependencies(graph, from, to, nullptr, count));
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
  return driver::cuGraphAddDependencies(graph, from, to, count);
}
CUresult cuGraphDestroyNode(CUgraphNode node) { return AsResult(runtime::cudaGraphDestroyNode(node)); }

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return AsResult(runtime::cudaGraphAddEmptyNode(node, graph, dependencies, count));
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams kernel = AsRuntime(*parameters);
  return AsResult(runtime::cudaGraphAddKernelNode(node, graph, dependencies, count, &kernel));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaMemsetParams fill{};
  fill.dst = Pointer(parameters->dst);
  fill.pitch = parameters->pitch;
  fill.value = parameters->value;
  fill.elementSize = parameters->elementSize;
  fill.width = parameters->width;
  fill.height = parameters->height;
  return AsResult(runtime::cudaGraphAddMemsetNode(node, graph, dependencies, count, &fill));
}
CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaHostNodeParams host{parameters->fn, parameters->userData};
  return AsResult(runtime::cudaGraphAddHostNode(node, graph, dependencies, count, &host));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  CUgraph child) {
  return AsResult(runtime::cudaGraphAddChildGraphNode(node, graph, dependencies, count, child));
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams kernel = AsRuntime(*parameters);
  return AsResult(runtime::cudaGraphKernelNodeSetParams(node, &kernel));
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams kernel = AsRuntime(*parameters);
  return AsResult(runtime::cudaGraphExecKernelNodeSetParams(exec, node, &kernel));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return AsResult(runtime::cudaGraphInstantiate(exec, graph, flags));
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const CUresult result =
      driver::cuGraphInstantiateWithFlags(exec, graph, parameters == nullptr ? 0 : parameters->flags);
  if (parameters != nullptr) {
    parameters->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  }
  return result;
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  static_assert(sizeof(CUgraphExecUpdateResultInfo) == sizeof(cudaGraphExecUpdateResultInfo));
  return AsResult(runtime::cudaGraphExecUpdate(exec, graph, reinterpret_cast<cudaGraphExecUpdateResultInfo*>(info)));
}
CUresult cuGraphExecDestroy(CUgraphExec exec) { return AsResult(runtime::cudaGraphExecDestroy(exec)); }
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) { return AsResult(runtime::cudaGraphUpload(exec, stream)); }
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { return AsResult(runtime::cudaGraphLaunch(exec, stream)); }

}  // namespace simgpu::driver
