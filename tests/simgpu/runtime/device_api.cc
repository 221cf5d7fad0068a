// Devices: selection, properties, device-wide synchronisation, occupancy and function attributes.
#include <cstdio>
#include <cstring>

#include "runtime_impl.h"
#include "tests/simgpu/core/device_properties.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

constexpr int kRuntimeVersion = 13000;

bool ValidOrdinal(int ordinal) { return ordinal >= 0 && ordinal < Simulator::Get().device_count(); }

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
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  if (!ValidOrdinal(device) || !ValidOrdinal(peer)) return cudaErrorInvalidDevice;
  *can_access = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int) {
  return ValidOrdinal(peer) ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) { return ValidOrdinal(peer) ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t cudaDeviceSynchronize() {
  const uint64_t begin_ns = TraceBegin();
  Device* device = CurrentDevice();
  Simulator::Get().BlockUntil(device->DeviceEndNs(), DeviceWaitMode(CurrentOrdinal()), "context");
  TraceWait(WaitKind::kContext, device, nullptr, nullptr, begin_ns);
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = kRuntimeVersion;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  if (FindKernel(function) == nullptr) return cudaErrorInvalidDeviceFunction;
  std::memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = 227 << 10;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int) {
  return FindKernel(function) == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  *name = KernelName(function);
  return *name == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  const Kernel* kernel = FindKernel(symbol);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *function = reinterpret_cast<cudaFunction_t>(const_cast<Kernel*>(kernel));
  return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* entry) { return runtime::__cudaGetKernel(kernel, entry); }

// Occupancy by threads and shared memory alone: registers are not modelled.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int block_threads,
                                                                   size_t shared_bytes, unsigned int) {
  if (blocks == nullptr || block_threads <= 0) return cudaErrorInvalidValue;
  constexpr int kMaxThreads = 2048, kMaxBlocks = 32;
  constexpr size_t kSharedBytes = 228 << 10;
  int fit = std::min(kMaxBlocks, kMaxThreads / block_threads);
  if (shared_bytes != 0) fit = std::min(fit, static_cast<int>(kSharedBytes / shared_bytes));
  *blocks = fit;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_threads,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_threads, shared_bytes, 0);
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // namespace simgpu::runtime
