// Virtual memory management. Address space comes from the device range, which is readable and writable throughout;
// mapping only keeps account.
#include "driver_impl.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {
namespace {

struct PhysicalMemory {
  size_t bytes;
  int device;
};

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = 2 << 20;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* reserved = Simulator::Get().memory().ReserveAddress(bytes, alignment);
  *address = reinterpret_cast<CUdeviceptr>(reserved);
  return reserved == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t) {
  return Simulator::Get().memory().ReleaseAddress(Pointer(address)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  if (handle == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int device = ValidOrdinal(properties->location.id) ? properties->location.id : 0;
  Simulator& simulator = Simulator::Get();
  if (!simulator.memory().TakeBytes(bytes, device)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(new PhysicalMemory{bytes, device});
  simulator.SpendHostTime(simulator.config().malloc_ns);
  return CUDA_SUCCESS;
}

// The bytes stay accounted for until the mapping goes, as for the real driver: programs release the handle early.
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  delete reinterpret_cast<PhysicalMemory*>(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) {
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  Simulator::Get().memory().GiveBytes(bytes, Simulator::Get().memory().DeviceOf(Pointer(address)));
  return CUDA_SUCCESS;
}

}  // namespace simgpu::driver
