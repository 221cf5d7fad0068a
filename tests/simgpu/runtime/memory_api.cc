// Allocation, pinning and pointer queries.
#include "runtime_impl.h"
#include "tests/simgpu/core/ipc.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

uint64_t PerMib(uint64_t ns_per_mib, uint64_t bytes) { return ns_per_mib * (bytes >> 10) >> 10; }

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  Simulator& simulator = Simulator::Get();
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = simulator.memory().AllocateDevice(bytes, CurrentOrdinal());
  simulator.SpendHostTime(simulator.config().malloc_ns);
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return runtime::cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int) {
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  Simulator& simulator = Simulator::Get();
  *pointer = simulator.memory().AllocateManaged(bytes);
  simulator.SpendHostTime(simulator.config().malloc_ns);
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

// Freeing waits for the device, as the real call does.
cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  Simulator& simulator = Simulator::Get();
  simulator.SynchronizeDevice(CurrentDevice(), WaitMode::kSpin);
  EndSharing(pointer);
  if (!simulator.pools().Free(pointer) && !simulator.memory().FreeDevice(pointer)) return cudaErrorInvalidValue;
  simulator.SpendHostTime(simulator.config().free_ns);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  Simulator& simulator = Simulator::Get();
  const Config& config = simulator.config();
  *pointer = simulator.memory().AllocatePinned(bytes);
  if (*pointer == nullptr) return cudaErrorMemoryAllocation;
  simulator.SpendHostTime(config.host_alloc_ns + PerMib(config.host_alloc_ns_per_mib, bytes));
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }

cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  Simulator& simulator = Simulator::Get();
  if (!simulator.memory().FreePinned(pointer)) return cudaErrorInvalidValue;
  simulator.SpendHostTime(simulator.config().free_ns);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int) {
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  Simulator& simulator = Simulator::Get();
  const Config& config = simulator.config();
  if (!simulator.memory().RegisterPinned(pointer, bytes)) return cudaErrorHostMemoryAlreadyRegistered;
  simulator.SpendHostTime(config.host_register_ns + PerMib(config.host_register_ns_per_mib, bytes));
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
  Simulator& simulator = Simulator::Get();
  if (!simulator.memory().UnregisterPinned(pointer)) return cudaErrorHostMemoryNotRegistered;
  simulator.SpendHostTime(simulator.config().free_ns);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int) {
  if (Simulator::Get().memory().KindOf(host_pointer) != MemoryKind::kPinned) return cudaErrorInvalidValue;
  *device_pointer = host_pointer;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
  if (Simulator::Get().memory().KindOf(pointer) != MemoryKind::kPinned) return cudaErrorInvalidValue;
  *flags = cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const Memory& memory = Simulator::Get().memory();
  if (free_bytes != nullptr) *free_bytes = memory.FreeBytes(CurrentOrdinal());
  if (total_bytes != nullptr) *total_bytes = memory.CapacityBytes();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  *attributes = {};
  attributes->device = CurrentOrdinal();
  switch (Simulator::Get().memory().KindOf(pointer)) {
    case MemoryKind::kDevice:
      attributes->type = cudaMemoryTypeDevice;
      attributes->device = Simulator::Get().memory().DeviceOf(pointer);
      attributes->devicePointer = const_cast<void*>(pointer);
      break;
    case MemoryKind::kManaged:
      attributes->type = cudaMemoryTypeManaged;
      attributes->devicePointer = attributes->hostPointer = const_cast<void*>(pointer);
      break;
    case MemoryKind::kPinned:
      attributes->type = cudaMemoryTypeHost;
      attributes->devicePointer = attributes->hostPointer = const_cast<void*>(pointer);
      break;
    case MemoryKind::kPageable:
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -1;
      attributes->hostPointer = const_cast<void*>(pointer);
      break;
  }
  return cudaSuccess;
}

}  // namespace simgpu::runtime
