// Streams and events.
#include <algorithm>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

Event* FindEvent(cudaEvent_t handle) { return reinterpret_cast<Event*>(handle); }

}  // namespace

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned int flags, int priority) {
  if (handle == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
  priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  const StreamKind kind = (flags & cudaStreamNonBlocking) != 0 ? StreamKind::kNonBlocking : StreamKind::kBlocking;
  Stream* stream = CurrentDevice()->CreateStream(kind, priority);
  *handle = reinterpret_cast<cudaStream_t>(stream);
  if (const TraceHooks* hooks = Hooks()) hooks->stream_created(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned int flags) {
  return runtime::cudaStreamCreateWithPriority(handle, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* handle) {
  return runtime::cudaStreamCreateWithPriority(handle, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
    return cudaErrorInvalidResourceHandle;
  }
  Stream* stream = FindStream(handle);
  stream->device()->DestroyStream(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const uint64_t begin_ns = TraceBegin();
  Stream* stream = FindStream(handle);
  if (Capture* capture = stream->capture.load(std::memory_order_relaxed)) return RefuseInCapture(capture);
  if (const cudaError_t error = CheckLegacyStream(stream); error != cudaSuccess) return error;
  Device* device = stream->device();
  Simulator::Get().SynchronizeStream(stream, DeviceWaitMode(device->ordinal()));
  TraceWait(WaitKind::kStream, device, stream, nullptr, begin_ns);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Stream* stream = FindStream(handle);
  if (Capture* capture = stream->capture.load(std::memory_order_relaxed)) return RefuseInCapture(capture);
  return Simulator::Get().StreamIsDone(stream) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned int flags) {
  if (event_handle == nullptr) return cudaErrorInvalidResourceHandle;
  const uint64_t begin_ns = TraceBegin();
  Stream* stream = FindStream(handle);
  Event* event = FindEvent(event_handle);
  Simulator::Get().StreamWaitEvent(stream, event, (flags & cudaEventWaitExternal) != 0);
  TraceWait(WaitKind::kStreamWaitsEvent, stream->device(), stream, event, begin_ns);
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  *priority = FindStream(handle)->priority();
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  *flags = FindStream(handle)->kind() == StreamKind::kNonBlocking ? cudaStreamNonBlocking : cudaStreamDefault;
  return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  *id = FindStream(handle)->id();
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  *device = FindStream(handle)->device()->ordinal();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned int flags) {
  if (handle == nullptr) return cudaErrorInvalidValue;
  const WaitMode mode = (flags & cudaEventBlockingSync) != 0 ? WaitMode::kBlock : DeviceWaitMode(CurrentOrdinal());
  Event* event = Simulator::Get().NewEvent(CurrentDevice(), (flags & cudaEventDisableTiming) == 0, mode);
  *handle = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) { return runtime::cudaEventCreateWithFlags(handle, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  if (handle == nullptr) return cudaErrorInvalidResourceHandle;
  Simulator::Get().DestroyEvent(FindEvent(handle));
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  if (handle == nullptr) return cudaErrorInvalidResourceHandle;
  Simulator::Get().RecordEvent(FindEvent(handle), FindStream(stream));
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned int flags) {
  if (handle == nullptr) return cudaErrorInvalidResourceHandle;
  Simulator::Get().RecordEvent(FindEvent(handle), FindStream(stream), (flags & cudaEventRecordExternal) != 0);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  if (handle == nullptr) return cudaErrorInvalidResourceHandle;
  return Simulator::Get().EventIsDone(FindEvent(handle)) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  if (handle == nullptr) return cudaErrorInvalidResourceHandle;
  const uint64_t begin_ns = TraceBegin();
  Event* event = FindEvent(handle);
  Simulator::Get().SynchronizeEvent(event);
  TraceWait(WaitKind::kEvent, event->device, nullptr, event, begin_ns);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (begin == nullptr || end == nullptr) return cudaErrorInvalidResourceHandle;
  const Event* first = FindEvent(begin);
  const Event* second = FindEvent(end);
  const uint64_t begin_ns = first->MarkNs(), end_ns = second->MarkNs();
  if (!first->timing || !second->timing || begin_ns == 0 || end_ns == 0) return cudaErrorInvalidResourceHandle;
  if (std::max(begin_ns, end_ns) > Simulator::Get().clock().NowNs()) return cudaErrorNotReady;
  *milliseconds = static_cast<float>((static_cast<double>(end_ns) - static_cast<double>(begin_ns)) / 1e6);
  return cudaSuccess;
}

}  // namespace simgpu::runtime
