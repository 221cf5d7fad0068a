// Devices: selection, properties, device-wide synchronisation.
#include <cstdio>
#include <cstring>

#include "runtime_impl.h"
#include "tests/simgpu/core/device_properties.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

constexpr int kDriverVersion = 13000;

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  *count = Simulator::Get().device_count();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  SetCurrentOrdinal(device);
  return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return ValidOrdinal(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = CurrentOrdinal();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  *properties = DeviceProperties(Simulator::Get().config(), device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  *value = DeviceAttribute(Simulator::Get().config(), device, attribute);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int bytes, int device) {
  if (bus_id == nullptr || bytes < 13) return cudaErrorInvalidValue;
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  std::snprintf(bus_id, static_cast<size_t>(bytes), "0000:%02x:00.0",
                DeviceAttribute(Simulator::Get().config(), device, cudaDevAttrPciBusId));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const uint64_t begin_ns = TraceBegin();
  Device* device = CurrentDevice();
  if (Simulator::Get().InvalidateBlockingCaptures(device)) return cudaErrorStreamCaptureUnsupported;
  Simulator::Get().SynchronizeDevice(device, DeviceWaitMode(CurrentOrdinal()));
  TraceWait(WaitKind::kContext, device, nullptr, nullptr, begin_ns);
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = CUDART_VERSION / 10 * 10;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = kDriverVersion;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // namespace simgpu::runtime
