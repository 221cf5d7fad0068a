// libcuda.so.1: device queries, virtual memory management, launches and entry points. Only what the runtime's clients
// of the road call; a missing function is missing at link time or null from cuGetProcAddress, never a wrong answer.
#include <cuda.h>
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/device_properties.h"
#include "tests/simgpu/core/simulator.h"

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using simgpu::CurrentDevice;
using simgpu::Simulator;
using simgpu::StreamOf;

constexpr int kDriverVersion = 13000;

bool ValidOrdinal(int ordinal) { return ordinal >= 0 && ordinal < Simulator::Get().device_count(); }

struct PhysicalMemory {
  size_t bytes;
};

}  // namespace

SIMGPU_EXPORT CUresult CUDAAPI cuInit(unsigned int) {
  Simulator::Get();
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuDeviceGetCount(int* count) {
  *count = Simulator::Get().device_count();
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  if (!ValidOrdinal(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, simgpu::kDeviceName, static_cast<size_t>(bytes));
  if (bytes > 0) name[bytes - 1] = '\0';
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuDeviceTotalMem(size_t* bytes, CUdevice) {
  *bytes = Simulator::Get().config().MemoryBytes();
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = simgpu::DeviceAttribute(Simulator::Get().config(), device, attribute);
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "error of the simulated driver";
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = Simulator::Get().memory().FreeBytes();
  *total_bytes = Simulator::Get().memory().CapacityBytes();
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                                             CUmemAllocationGranularity_flags) {
  *bytes = 2 << 20;
  return CUDA_SUCCESS;
}

// Address space comes from the device range, which is readable and writable throughout; mapping only keeps account.
SIMGPU_EXPORT CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr,
                                                   unsigned long long) {
  void* reserved = Simulator::Get().memory().ReserveAddress(bytes, alignment);
  *address = reinterpret_cast<CUdeviceptr>(reserved);
  return reserved == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t) {
  return Simulator::Get().memory().ReleaseAddress(reinterpret_cast<void*>(address)) ? CUDA_SUCCESS
                                                                                    : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                           const CUmemAllocationProp*, unsigned long long) {
  Simulator& simulator = Simulator::Get();
  if (!simulator.memory().TakeBytes(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(new PhysicalMemory{bytes});
  simulator.SpendHostTime(simulator.config().malloc_ns);
  return CUDA_SUCCESS;
}

// The bytes stay accounted for until the mapping goes, as for the real driver: programs release the handle early.
SIMGPU_EXPORT CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  delete reinterpret_cast<PhysicalMemory*>(handle);
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuMemMap(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) {
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuMemUnmap(CUdeviceptr, size_t bytes) {
  Simulator::Get().memory().GiveBytes(bytes);
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  *device = simgpu::CurrentOrdinal();
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(CurrentDevice());
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  simgpu::Stream* stream = StreamOf(handle);
  simgpu::Device* device = stream->device();
  Simulator::Get().BlockUntil(device->StreamEndNs(stream), simgpu::DeviceWaitMode(device->ordinal()), "stream");
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                              unsigned block_x, unsigned block_y, unsigned block_z,
                                              unsigned shared_bytes, CUstream stream, void** kernel_params,
                                              void** extra) {
  if (!Simulator::Get().kernels().IsKernel(function)) return CUDA_ERROR_INVALID_HANDLE;
  simgpu::KernelWork work;
  work.kernel = reinterpret_cast<const simgpu::Kernel*>(function);
  work.grid = {grid_x, grid_y, grid_z};
  work.block = {block_x, block_y, block_z};
  work.shared_bytes = shared_bytes;
  if (simgpu::Hooks() != nullptr) {
    constexpr uint32_t kLaunchKernelCbid = 307;
    // Fields of cuLaunchKernel_params.
    const struct {
      CUfunction f;
      unsigned gx, gy, gz, bx, by, bz, shared;
      CUstream stream;
      void** params;
      void** extra;
    } params{function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, kernel_params, extra};
    simgpu::ApiScope api_scope(simgpu::ApiDomain::kDriver, kLaunchKernelCbid, "cuLaunchKernel", &params,
                               work.kernel->name.c_str());
    Simulator::Get().Submit(StreamOf(stream), work);
    return api_scope.Return(CUDA_SUCCESS);
  }
  Simulator::Get().Submit(StreamOf(stream), work);
  return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** kernel_params,
                                                void** extra) {
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                        config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, kernel_params,
                        extra);
}

// Looks in this library alone: the newest form of a function first, as the real one does.
SIMGPU_EXPORT CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                                                CUdriverProcAddressQueryResult* status) {
  static void* self = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  *function = dlsym(self, (std::string(symbol) + "_v2").c_str());
  if (*function == nullptr) *function = dlsym(self, symbol);
  if (status != nullptr) {
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
