// Reading and changing what the nodes of a graph do.
#include "runtime_impl.h"
#include "tests/simgpu/runtime/copies.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/graph_handles.h"

namespace simgpu::runtime {
namespace {

// The node's work, if it is of this type.
template <typename T>
T* WorkOf(cudaGraphNode_t node) {
  return node == nullptr ? nullptr : std::get_if<T>(&FindNode(node)->work);
}

template <typename T, typename Parameters>
cudaError_t SetFrom(cudaGraphNode_t node, const Parameters* parameters) {
  Work work;
  if (WorkOf<T>(node) == nullptr || parameters == nullptr || !MakeWork(*parameters, &work)) {
    return cudaErrorInvalidValue;
  }
  FindNode(node)->work = std::move(work);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  const auto* kernel = WorkOf<KernelWork>(node);
  if (kernel == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  *parameters = {};
  const void* stub = Simulator::Get().kernels().HostFunctionOf(kernel->kernel);
  parameters->func = const_cast<void*>(stub == nullptr ? kernel->kernel : stub);
  parameters->gridDim = dim3(kernel->grid.x, kernel->grid.y, kernel->grid.z);
  parameters->blockDim = dim3(kernel->block.x, kernel->block.y, kernel->block.z);
  parameters->sharedMemBytes = kernel->shared_bytes;
  parameters->kernelParams = kernel->arguments;
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return SetFrom<KernelWork>(node, parameters);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  const auto* copy = WorkOf<CopyWork>(node);
  if (copy == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  *parameters = {};
  const auto rows_of = [](size_t slice_pitch, size_t pitch, size_t rows) {
    return pitch == 0 ? rows : slice_pitch / pitch;
  };
  parameters->dstPtr = {copy->destination, copy->destination_pitch, copy->width_bytes,
                        rows_of(copy->destination_slice_pitch, copy->destination_pitch, copy->rows)};
  parameters->srcPtr = {const_cast<void*>(copy->source), copy->source_pitch, copy->width_bytes,
                        rows_of(copy->source_slice_pitch, copy->source_pitch, copy->rows)};
  parameters->extent = {copy->width_bytes, copy->rows, copy->slices};
  parameters->kind = cudaMemcpyDefault;
  return cudaSuccess;
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  return SetFrom<CopyWork>(node, parameters);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination, const void* source, size_t bytes,
                                           cudaMemcpyKind) {
  auto* copy = WorkOf<CopyWork>(node);
  if (copy == nullptr || destination == nullptr || source == nullptr) return cudaErrorInvalidValue;
  *copy = MakeCopy(destination, bytes, source, bytes, bytes, 1);
  return cudaSuccess;
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* source,
                                                 size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  if (const cudaError_t error = runtime::cudaGetSymbolAddress(&address, symbol); error != cudaSuccess) return error;
  return runtime::cudaGraphMemcpyNodeSetParams1D(node, static_cast<char*>(address) + offset, source, bytes, kind);
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* destination, const void* symbol,
                                                   size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  if (const cudaError_t error = runtime::cudaGetSymbolAddress(&address, symbol); error != cudaSuccess) return error;
  return runtime::cudaGraphMemcpyNodeSetParams1D(node, destination, static_cast<char*>(address) + offset, bytes, kind);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  const auto* fill = WorkOf<FillWork>(node);
  if (fill == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  *parameters = {};
  parameters->dst = fill->destination;
  parameters->pitch = fill->pitch;
  parameters->value = fill->value;
  parameters->elementSize = fill->element_bytes;
  parameters->width = fill->width_bytes / fill->element_bytes;
  parameters->height = fill->rows;
  return cudaSuccess;
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return SetFrom<FillWork>(node, parameters);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  const auto* host = WorkOf<HostWork>(node);
  if (host == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  *parameters = {};
  parameters->fn = host->function;
  parameters->userData = host->argument;
  return cudaSuccess;
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  auto* host = WorkOf<HostWork>(node);
  if (host == nullptr || parameters == nullptr || parameters->fn == nullptr) return cudaErrorInvalidValue;
  *host = HostWork{parameters->fn, parameters->userData};
  return cudaSuccess;
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  const auto* child = WorkOf<ChildWork>(node);
  if (child == nullptr || graph == nullptr) return cudaErrorInvalidValue;
  *graph = reinterpret_cast<cudaGraph_t>(child->graph.get());
  return cudaSuccess;
}

namespace {

cudaError_t GetEvent(cudaGraphNode_t node, bool waits, cudaEvent_t* event) {
  const auto* work = WorkOf<EventWork>(node);
  if (work == nullptr || work->waits != waits || event == nullptr) return cudaErrorInvalidValue;
  *event = reinterpret_cast<cudaEvent_t>(work->event);
  return cudaSuccess;
}

cudaError_t SetEvent(cudaGraphNode_t node, bool waits, cudaEvent_t event) {
  auto* work = WorkOf<EventWork>(node);
  if (work == nullptr || work->waits != waits || event == nullptr) return cudaErrorInvalidValue;
  work->event = reinterpret_cast<Event*>(event);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return GetEvent(node, false, event);
}
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return SetEvent(node, false, event);
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return GetEvent(node, true, event);
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return SetEvent(node, true, event);
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* parameters) {
  const auto* memory = WorkOf<MemoryWork>(node);
  if (memory == nullptr || memory->frees || parameters == nullptr) return cudaErrorInvalidValue;
  *parameters = {};
  parameters->poolProps.allocType = cudaMemAllocationTypePinned;
  parameters->poolProps.location = {cudaMemLocationTypeDevice, Simulator::Get().memory().DeviceOf(memory->address)};
  parameters->bytesize = memory->bytes;
  parameters->dptr = memory->address;
  return cudaSuccess;
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  const auto* memory = WorkOf<MemoryWork>(node);
  if (memory == nullptr || !memory->frees || pointer == nullptr) return cudaErrorInvalidValue;
  *static_cast<void**>(pointer) = memory->address;
  return cudaSuccess;
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  if (node == nullptr || parameters == nullptr) return cudaErrorInvalidValue;
  Work work;
  if (const cudaError_t error = MakeWork(*parameters, &work); error != cudaSuccess) return error;
  if (work.index() != FindNode(node)->work.index()) return cudaErrorInvalidValue;
  FindNode(node)->work = std::move(work);
  return cudaSuccess;
}

}  // namespace simgpu::runtime
