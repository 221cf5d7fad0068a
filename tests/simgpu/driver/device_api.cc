// Devices and contexts. Each device has its primary context and no other: a context is its device.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "driver_impl.h"
#include "runtime_impl.h"
#include "tests/simgpu/core/device_properties.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {
namespace {

constexpr int kDriverVersion = 13000;

CUcontext ContextOf(int ordinal) { return reinterpret_cast<CUcontext>(Simulator::Get().device(ordinal)); }
int OrdinalOf(CUcontext context) { return reinterpret_cast<Device*>(context)->ordinal(); }
thread_local std::vector<int> pushed_contexts;

}  // namespace

CUresult NotSupported(const char* function) {
  static auto* mutex = new std::mutex;
  static auto* said = new std::set<std::string>;
  std::lock_guard lock(*mutex);
  if (said->insert(function).second) std::fprintf(stderr, "simgpu: %s is not simulated\n", function);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuInit(unsigned int flags) {
  Simulator::Get();
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) { return AsResult(runtime::cudaGetDeviceCount(count)); }

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidOrdinal(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (name == nullptr || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::strncpy(name, kDeviceName, static_cast<size_t>(bytes));
  name[bytes - 1] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = Simulator::Get().config().MemoryBytes();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return AsResult(runtime::cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  DeviceUuid(device, uuid->bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return driver::cuDeviceGetUuid_v2(uuid, device); }

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  *major = DeviceModel::kMajor;
  *minor = DeviceModel::kMinor;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* bus_id, int bytes, CUdevice device) {
  return AsResult(runtime::cudaDeviceGetPCIBusId(bus_id, bytes, device));
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus_id) {
  return AsResult(runtime::cudaDeviceGetByPCIBusId(device, bus_id));
}
CUresult cuDeviceCanAccessPeer(int* can_access, CUdevice device, CUdevice peer) {
  return AsResult(runtime::cudaDeviceCanAccessPeer(can_access, device, peer));
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination) {
  return AsResult(
      runtime::cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(attribute), source, destination));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = ContextOf(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return ValidOrdinal(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { return driver::cuDevicePrimaryCtxRelease_v2(device); }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = DeviceFlags(device);
  *active = 1;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  SetDeviceFlags(device, flags);
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  SetDeviceFlags(device, flags);
  pushed_contexts.push_back(CurrentOrdinal());
  SetCurrentOrdinal(device);
  *context = ContextOf(device);
  return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned int flags, CUdevice device) {
  return driver::cuCtxCreate_v2(context, flags, device);
}
CUresult cuCtxDestroy_v2(CUcontext context) { return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS; }

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = ContextOf(CurrentOrdinal());
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (context != nullptr) SetCurrentOrdinal(OrdinalOf(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  pushed_contexts.push_back(CurrentOrdinal());
  SetCurrentOrdinal(OrdinalOf(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (pushed_contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = ContextOf(CurrentOrdinal());
  SetCurrentOrdinal(pushed_contexts.back());
  pushed_contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) { return AsResult(runtime::cudaGetDevice(device)); }
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  *device = context == nullptr ? CurrentOrdinal() : OrdinalOf(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetFlags(unsigned int* flags) { return AsResult(runtime::cudaGetDeviceFlags(flags)); }
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  *id = Simulator::Get().device(context == nullptr ? CurrentOrdinal() : OrdinalOf(context))->context_id();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned int* version) {
  *version = 3020;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return AsResult(runtime::cudaDeviceSynchronize()); }
CUresult cuCtxSynchronize_v2(CUcontext context) {
  if (context == nullptr) return driver::cuCtxSynchronize();
  Simulator::Get().SynchronizeDevice(reinterpret_cast<Device*>(context), DeviceWaitMode(OrdinalOf(context)));
  return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return AsResult(runtime::cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value));
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return AsResult(runtime::cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)));
}
CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return AsResult(runtime::cudaDeviceGetStreamPriorityRange(least, greatest));
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return AsResult(runtime::cudaDeviceEnablePeerAccess(OrdinalOf(peer), flags));
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return AsResult(runtime::cudaDeviceDisablePeerAccess(OrdinalOf(peer)));
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

CUresult cuGetErrorName(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (error) {
#define SIMGPU_NAME(name) \
  case name:              \
    *text = #name;        \
    return CUDA_SUCCESS
    SIMGPU_NAME(CUDA_SUCCESS);
    SIMGPU_NAME(CUDA_ERROR_INVALID_VALUE);
    SIMGPU_NAME(CUDA_ERROR_OUT_OF_MEMORY);
    SIMGPU_NAME(CUDA_ERROR_NOT_INITIALIZED);
    SIMGPU_NAME(CUDA_ERROR_INVALID_DEVICE);
    SIMGPU_NAME(CUDA_ERROR_INVALID_IMAGE);
    SIMGPU_NAME(CUDA_ERROR_INVALID_CONTEXT);
    SIMGPU_NAME(CUDA_ERROR_INVALID_HANDLE);
    SIMGPU_NAME(CUDA_ERROR_NOT_FOUND);
    SIMGPU_NAME(CUDA_ERROR_NOT_READY);
    SIMGPU_NAME(CUDA_ERROR_NOT_SUPPORTED);
    SIMGPU_NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    SIMGPU_NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
#undef SIMGPU_NAME
    default:
      *text = "CUDA_ERROR_UNKNOWN";
      return CUDA_SUCCESS;
  }
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text != nullptr && error == CUDA_SUCCESS) {
    *text = "no error";
    return CUDA_SUCCESS;
  }
  return driver::cuGetErrorName(error, text);
}

}  // namespace simgpu::driver
