// Memory and events shared between processes.
#include <cstring>

#include "runtime_impl.h"
#include "tests/simgpu/core/ipc.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

static_assert(sizeof(IpcHandle) <= sizeof(cudaIpcMemHandle_t) && sizeof(IpcHandle) <= sizeof(cudaIpcEventHandle_t));

template <typename Handle>
void Pack(const IpcHandle& from, Handle* to) {
  std::memset(to, 0, sizeof *to);
  std::memcpy(to, &from, sizeof from);
}

template <typename Handle>
IpcHandle Unpack(const Handle& from) {
  IpcHandle handle;
  std::memcpy(&handle, &from, sizeof handle);
  return handle;
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  IpcHandle shared;
  if (handle == nullptr || !ShareMemory(pointer, &shared)) return cudaErrorInvalidValue;
  Pack(shared, handle);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = OpenSharedMemory(Unpack(handle));
  return *pointer == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return CloseSharedMemory(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event_handle) {
  if (handle == nullptr || event_handle == nullptr) return cudaErrorInvalidValue;
  auto* event = reinterpret_cast<Event*>(event_handle);
  if (event->timing) return cudaErrorInvalidResourceHandle;  // only events without timing can be shared
  IpcHandle shared;
  auto* mark = ShareMark(&shared);
  if (mark == nullptr) return cudaErrorOperatingSystem;
  mark->store(event->MarkNs());
  event->shared_mark_ns.store(mark, std::memory_order_release);
  Pack(shared, handle);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event_handle, cudaIpcEventHandle_t handle) {
  if (event_handle == nullptr) return cudaErrorInvalidValue;
  auto* mark = OpenSharedMark(Unpack(handle));
  if (mark == nullptr) return cudaErrorInvalidResourceHandle;
  Event* event = Simulator::Get().NewEvent(CurrentDevice(), false, DeviceWaitMode(CurrentOrdinal()));
  event->shared_mark_ns.store(mark, std::memory_order_release);
  *event_handle = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}

}  // namespace simgpu::runtime
