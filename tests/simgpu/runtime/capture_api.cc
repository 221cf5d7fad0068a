// Stream capture.
#include <deque>
#include <utility>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/forms.h"
#include "tests/simgpu/runtime/graph_handles.h"

namespace simgpu::runtime {
namespace {

Capture* CaptureOf(Stream* stream) { return stream->capture.load(std::memory_order_acquire); }

cudaStreamCaptureStatus StatusOf(const Capture* capture) {
  if (capture == nullptr) return cudaStreamCaptureStatusNone;
  return capture->invalidated() ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

bool IsLegacy(cudaStream_t handle) { return FindStream(handle)->kind() == StreamKind::kLegacy; }

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  if (IsLegacy(handle)) return cudaErrorStreamCaptureUnsupported;
  return Simulator::Get().BeginCapture(FindStream(handle)) ? cudaSuccess : cudaErrorIllegalState;
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData*, size_t count, cudaStreamCaptureMode) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  if (IsLegacy(handle)) return cudaErrorStreamCaptureUnsupported;
  std::vector<int> nodes;
  if (!IndicesOf(FindGraph(graph), dependencies, count, &nodes)) return cudaErrorInvalidValue;
  return Simulator::Get().BeginCapture(FindStream(handle), FindGraph(graph), std::move(nodes)) ? cudaSuccess
                                                                                               : cudaErrorIllegalState;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  Stream* stream = FindStream(handle);
  const Capture* capture = CaptureOf(stream);
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin() != stream) return cudaErrorStreamCaptureUnmatched;
  const bool invalidated = capture->invalidated();
  Graph* captured = Simulator::Get().EndCapture(stream);
  *graph = reinterpret_cast<cudaGraph_t>(captured);
  if (invalidated) return cudaErrorStreamCaptureInvalidated;
  return captured == nullptr ? cudaErrorStreamCaptureUnjoined : cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return cudaErrorInvalidValue;
  *status = StatusOf(CaptureOf(FindStream(handle)));
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* dependency_count) {
  if (status == nullptr) return cudaErrorInvalidValue;
  Stream* stream = FindStream(handle);
  Capture* capture = CaptureOf(stream);
  *status = StatusOf(capture);
  if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
  if (id != nullptr) *id = capture->id();
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(capture->graph());
  // Valid until the next call on this thread, which is less than the real promise and enough for capture helpers.
  thread_local std::vector<cudaGraphNode_t> nodes;
  nodes.clear();
  for (int node : capture->Tail(stream)) nodes.push_back(HandleOf(&capture->graph()->nodes[static_cast<size_t>(node)]));
  if (dependencies != nullptr) *dependencies = nodes.data();
  if (edges != nullptr) *edges = nullptr;
  if (dependency_count != nullptr) *dependency_count = nodes.size();
  return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData*, size_t count, unsigned int flags) {
  Stream* stream = FindStream(handle);
  Capture* capture = CaptureOf(stream);
  if (capture == nullptr) return cudaErrorIllegalState;
  std::vector<int> nodes;
  if (!IndicesOf(capture->graph(), dependencies, count, &nodes)) return cudaErrorInvalidValue;
  if (flags == cudaStreamSetCaptureDependencies) {
    capture->SetTail(stream, std::move(nodes));
  } else {
    capture->AddToTail(stream, nodes);
  }
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  if (mode == nullptr) return cudaErrorInvalidValue;
  std::swap(current, *mode);
  return cudaSuccess;
}

}  // namespace simgpu::runtime
