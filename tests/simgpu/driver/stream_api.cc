// Streams, events and capture.
#include "driver_impl.h"
#include "runtime_impl.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return AsResult(runtime::cudaStreamCreateWithFlags(stream, flags));
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return AsResult(runtime::cudaStreamCreateWithPriority(stream, flags, priority));
}
CUresult cuStreamDestroy_v2(CUstream stream) { return AsResult(runtime::cudaStreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return AsResult(runtime::cudaStreamSynchronize(stream)); }
CUresult cuStreamQuery(CUstream stream) { return AsResult(runtime::cudaStreamQuery(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return AsResult(runtime::cudaStreamWaitEvent(stream, event, flags));
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* argument, unsigned int flags) {
  return AsResult(
      runtime::cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback), argument, flags));
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return AsResult(runtime::cudaStreamGetPriority(stream, priority));
}
CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return AsResult(runtime::cudaStreamGetFlags(stream, flags));
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return AsResult(runtime::cudaStreamGetId(stream, id));
}
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return AsResult(runtime::cudaStreamGetDevice(stream, device));
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = reinterpret_cast<CUcontext>(StreamOf(stream)->device());
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return AsResult(runtime::cudaEventCreateWithFlags(event, flags));
}
CUresult cuEventDestroy_v2(CUevent event) { return AsResult(runtime::cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return AsResult(runtime::cudaEventRecord(event, stream)); }
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  return AsResult(runtime::cudaEventRecordWithFlags(event, stream, flags));
}
CUresult cuEventQuery(CUevent event) { return AsResult(runtime::cudaEventQuery(event)); }
CUresult cuEventSynchronize(CUevent event) { return AsResult(runtime::cudaEventSynchronize(event)); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return AsResult(runtime::cudaEventElapsedTime(milliseconds, begin, end));
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  return AsResult(runtime::cudaEventElapsedTime(milliseconds, begin, end));
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return AsResult(runtime::cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return AsResult(runtime::cudaStreamEndCapture(stream, graph));
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return AsResult(runtime::cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status)));
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
  unsigned long long number = 0;
  const cudaError_t error =
      runtime::cudaStreamGetCaptureInfo(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status), &number, graph,
                                        dependencies, reinterpret_cast<const cudaGraphEdgeData**>(edges), count);
  if (id != nullptr) *id = number;
  return AsResult(error);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, size_t* count) {
  return driver::cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count,
                                              unsigned int flags) {
  return AsResult(runtime::cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags));
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, size_t count, unsigned int flags) {
  return driver::cuStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return AsResult(runtime::cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode)));
}

}  // namespace simgpu::driver
