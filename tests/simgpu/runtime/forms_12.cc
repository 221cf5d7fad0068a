// Forms of functions that CUDA 12 exports beside the newer ones (forms.h), for libcudart.so.12 alone.
#include <cstring>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

// Here each name means what CUDA 12 exports under it.
#undef cudaStreamGetCaptureInfo
#undef cudaGraphAddDependencies
#undef cudaGraphRemoveDependencies
#undef cudaGraphAddNode
#undef cudaGraphGetEdges
#undef cudaGraphNodeGetDependencies
#undef cudaGraphNodeGetDependentNodes
#undef cudaMemAdvise
#undef cudaMemPrefetchAsync
#undef cudaStreamUpdateCaptureDependencies
#undef cudaGetDeviceProperties
#undef cudaSignalExternalSemaphoresAsync
#undef cudaWaitExternalSemaphoresAsync

namespace simgpu::runtime {
namespace {

cudaMemLocation AsLocation(int device) {
  return device == cudaCpuDeviceId ? cudaMemLocation{cudaMemLocationTypeHost, 0}
                                   : cudaMemLocation{cudaMemLocationTypeDevice, device};
}

}  // namespace

cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return runtime::cudaEventElapsedTime(milliseconds, begin, end);
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count) {
  return runtime::cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count,
                                                unsigned int flags) {
  return runtime::cudaStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     size_t count) {
  return runtime::cudaGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        size_t count) {
  return runtime::cudaGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             size_t count, cudaGraphNodeParams* parameters) {
  return runtime::cudaGraphAddNode_v2(node, graph, dependencies, nullptr, count, parameters);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  return runtime::cudaGraphGetEdges_v2(graph, from, to, nullptr, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  return runtime::cudaGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  return runtime::cudaGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  return runtime::cudaMemAdvise_v2(pointer, bytes, advice, AsLocation(device));
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  return runtime::cudaMemPrefetchAsync_v2(pointer, bytes, AsLocation(device), 0, stream);
}

cudaError_t cudaThreadSynchronize() { return runtime::cudaDeviceSynchronize(); }
cudaError_t cudaThreadExit() { return runtime::cudaDeviceReset(); }
cudaError_t cudaThreadGetLimit(size_t* value, cudaLimit limit) { return runtime::cudaDeviceGetLimit(value, limit); }
cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) { return runtime::cudaDeviceSetLimit(limit, value); }

}  // namespace simgpu::runtime

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

// CUDA 11's cudaDeviceProp, 648 bytes: CUDA 12's begins with the same fields.
SIMGPU_EXPORT cudaError_t CUDARTAPI cudaGetDeviceProperties(void* properties, int device) {
  constexpr size_t kBytesBeforeCuda12 = 648;
  cudaDeviceProp whole;
  const cudaError_t error = simgpu::runtime::cudaGetDeviceProperties_v2(&whole, device);
  if (error == cudaSuccess && properties != nullptr) std::memcpy(properties, &whole, kBytesBeforeCuda12);
  return simgpu::runtime::Keep(error);
}

SIMGPU_EXPORT cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                             unsigned long long* id) {
  return simgpu::runtime::Keep(
      simgpu::runtime::cudaStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr));
}

SIMGPU_EXPORT cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                                  unsigned long long* id) {
  const simgpu::PerThreadDefaultScope per_thread_default;
  return simgpu::runtime::Keep(
      simgpu::runtime::cudaStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr));
}

#define SIMGPU_NOT_SIMULATED(name) \
  SIMGPU_EXPORT cudaError_t CUDARTAPI name() { return simgpu::runtime::Keep(simgpu::runtime::NotSupported(#name)); }
SIMGPU_NOT_SIMULATED(cudaSignalExternalSemaphoresAsync)
SIMGPU_NOT_SIMULATED(cudaSignalExternalSemaphoresAsync_ptsz)
SIMGPU_NOT_SIMULATED(cudaWaitExternalSemaphoresAsync)
SIMGPU_NOT_SIMULATED(cudaWaitExternalSemaphoresAsync_ptsz)
