// Adding nodes to a graph, one function for each type of node.
#include "runtime_impl.h"
#include "tests/simgpu/runtime/copies.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/forms.h"
#include "tests/simgpu/runtime/graph_handles.h"

namespace simgpu::runtime {
namespace {

cudaError_t Append(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                   Work work) {
  if (node == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  std::vector<int> indices;
  if (!IndicesOf(FindGraph(graph), dependencies, count, &indices)) return cudaErrorInvalidValue;
  *node = HandleOf(AppendNode(FindGraph(graph), std::move(work), std::move(indices)));
  return cudaSuccess;
}

template <typename Parameters>
cudaError_t AppendFrom(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                       const Parameters* parameters) {
  Work work;
  if (parameters == nullptr || !MakeWork(*parameters, &work)) return cudaErrorInvalidValue;
  return Append(node, graph, dependencies, count, std::move(work));
}

}  // namespace

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  size_t count) {
  return Append(node, graph, dependencies, count, EmptyWork{});
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaKernelNodeParams* parameters) {
  if (parameters != nullptr && FindKernel(parameters->func) == nullptr) return cudaErrorInvalidDeviceFunction;
  return AppendFrom(node, graph, dependencies, count, parameters);
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemcpy3DParms* parameters) {
  return AppendFrom(node, graph, dependencies, count, parameters);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, void* destination, const void* source, size_t bytes,
                                     cudaMemcpyKind) {
  if (destination == nullptr || source == nullptr || bytes == 0) return cudaErrorInvalidValue;
  return Append(node, graph, dependencies, count, MakeCopy(destination, bytes, source, bytes, bytes, 1));
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count, const void* symbol,
                                           const void* source, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  if (const cudaError_t error = runtime::cudaGetSymbolAddress(&address, symbol); error != cudaSuccess) return error;
  return runtime::cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, static_cast<char*>(address) + offset,
                                           source, bytes, kind);
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, void* destination,
                                             const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  if (const cudaError_t error = runtime::cudaGetSymbolAddress(&address, symbol); error != cudaSuccess) return error;
  return runtime::cudaGraphAddMemcpyNode1D(node, graph, dependencies, count, destination,
                                           static_cast<char*>(address) + offset, bytes, kind);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemsetParams* parameters) {
  return AppendFrom(node, graph, dependencies, count, parameters);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 size_t count, const cudaHostNodeParams* parameters) {
  if (parameters == nullptr || parameters->fn == nullptr) return cudaErrorInvalidValue;
  return Append(node, graph, dependencies, count, HostWork{parameters->fn, parameters->userData});
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       size_t count, cudaGraph_t child) {
  if (child == nullptr) return cudaErrorInvalidValue;
  return Append(node, graph, dependencies, count, ChildWork{std::shared_ptr<Graph>(Clone(*FindGraph(child)))});
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        size_t count, cudaEvent_t event) {
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  return Append(node, graph, dependencies, count, EventWork{reinterpret_cast<Event*>(event), false});
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                      size_t count, cudaEvent_t event) {
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  return Append(node, graph, dependencies, count, EventWork{reinterpret_cast<Event*>(event), true});
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, cudaMemAllocNodeParams* parameters) {
  if (parameters == nullptr || !ValidOrdinal(parameters->poolProps.location.id)) return cudaErrorInvalidValue;
  Pools& pools = Simulator::Get().pools();
  bool grew = false;
  MemoryWork work;
  work.bytes = parameters->bytesize;
  work.address = pools.Allocate(pools.DefaultOf(parameters->poolProps.location.id), work.bytes, &grew);
  if (work.address == nullptr) return cudaErrorMemoryAllocation;
  work.owner = std::shared_ptr<void>(work.address, [](void* owned) { Simulator::Get().pools().Free(owned); });
  parameters->dptr = work.address;
  return Append(node, graph, dependencies, count, std::move(work));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    size_t count, void* pointer) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  MemoryWork work;
  work.address = pointer;
  work.frees = true;
  return Append(node, graph, dependencies, count, std::move(work));
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (parameters->type == cudaGraphNodeTypeMemAlloc) {
    cudaMemAllocNodeParams allocation{};
    allocation.poolProps = parameters->alloc.poolProps;
    allocation.bytesize = parameters->alloc.bytesize;
    const cudaError_t error = runtime::cudaGraphAddMemAllocNode(node, graph, dependencies, count, &allocation);
    parameters->alloc.dptr = allocation.dptr;
    return error;
  }
  if (parameters->type == cudaGraphNodeTypeMemFree) {
    return runtime::cudaGraphAddMemFreeNode(node, graph, dependencies, count, parameters->free.dptr);
  }
  Work work;
  if (const cudaError_t error = MakeWork(*parameters, &work); error != cudaSuccess) return error;
  return Append(node, graph, dependencies, count, std::move(work));
}

}  // namespace simgpu::runtime
