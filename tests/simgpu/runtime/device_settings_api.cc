// Settings of a device that are kept for who asks for them again, and peer access.
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "runtime_impl.h"
#include "tests/simgpu/core/device_properties.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

struct Settings {
  std::mutex mutex;                                    // guards what follows
  std::map<std::pair<int, cudaLimit>, size_t> limits;  // by device
  std::set<std::pair<int, int>> peers;                 // who may use whose memory
};

Settings& AllSettings() {
  static auto* settings = new Settings;
  return *settings;
}

size_t DefaultLimit(cudaLimit limit) {
  switch (limit) {
    case cudaLimitStackSize:
      return 1024;
    case cudaLimitPrintfFifoSize:
    case cudaLimitMallocHeapSize:
      return limit == cudaLimitPrintfFifoSize ? 1 << 20 : 8 << 20;
    case cudaLimitDevRuntimePendingLaunchCount:
      return 2048;
    case cudaLimitMaxL2FetchGranularity:
      return 128;
    default:
      return 0;
  }
}

}  // namespace

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  Settings& settings = AllSettings();
  std::lock_guard lock(settings.mutex);
  settings.limits[{CurrentOrdinal(), limit}] = value;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (value == nullptr) return cudaErrorInvalidValue;
  Settings& settings = AllSettings();
  std::lock_guard lock(settings.mutex);
  const auto set = settings.limits.find({CurrentOrdinal(), limit});
  *value = set == settings.limits.end() ? DefaultLimit(limit) : set->second;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (config == nullptr) return cudaErrorInvalidValue;
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  if (config == nullptr) return cudaErrorInvalidValue;
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaSetValidDevices(int* devices, int count) {
  for (int i = 0; i < count; ++i) {
    if (!ValidOrdinal(devices[i])) return cudaErrorInvalidDevice;
  }
  return cudaSuccess;
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wish) {
  if (device == nullptr || wish == nullptr) return cudaErrorInvalidValue;
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  if (device == nullptr || bus_id == nullptr) return cudaErrorInvalidValue;
  for (int ordinal = 0; ordinal < Simulator::Get().device_count(); ++ordinal) {
    char own[32];
    runtime::cudaDeviceGetPCIBusId(own, sizeof own, ordinal);
    if (std::strcmp(own, bus_id) != 0) continue;
    *device = ordinal;
    return cudaSuccess;
  }
  return cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  if (can_access == nullptr) return cudaErrorInvalidValue;
  if (!ValidOrdinal(device) || !ValidOrdinal(peer)) return cudaErrorInvalidDevice;
  *can_access = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (flags != 0) return cudaErrorInvalidValue;
  if (!ValidOrdinal(peer) || peer == CurrentOrdinal()) return cudaErrorInvalidDevice;
  Settings& settings = AllSettings();
  std::lock_guard lock(settings.mutex);
  return settings.peers.insert({CurrentOrdinal(), peer}).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (!ValidOrdinal(peer)) return cudaErrorInvalidDevice;
  Settings& settings = AllSettings();
  std::lock_guard lock(settings.mutex);
  return settings.peers.erase({CurrentOrdinal(), peer}) != 0 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int destination) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (!ValidOrdinal(source) || !ValidOrdinal(destination) || source == destination) return cudaErrorInvalidDevice;
  *value = attribute == cudaDevP2PAttrPerformanceRank || attribute == cudaDevP2PAttrCudaArrayAccessSupported ? 0 : 1;
  return cudaSuccess;
}

}  // namespace simgpu::runtime
