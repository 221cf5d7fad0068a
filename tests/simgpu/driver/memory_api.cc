// Allocation, pinning, pointers and memory pools.
#include "driver_impl.h"
#include "runtime_impl.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {
namespace {

void** AsPointers(CUdeviceptr* address) { return reinterpret_cast<void**>(address); }

CUmemorytype TypeOf(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return AsResult(runtime::cudaMemGetInfo(free_bytes, total_bytes));
}
// Zero bytes are an error here, unlike in the runtime.
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : AsResult(runtime::cudaMalloc(AsPointers(address), bytes));
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned int) {
  return AsResult(runtime::cudaMallocPitch(AsPointers(address), pitch, width, height));
}
CUresult cuMemFree_v2(CUdeviceptr address) { return AsResult(runtime::cudaFree(Pointer(address))); }
CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  return AsResult(runtime::cudaMallocManaged(AsPointers(address), bytes, flags));
}
CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) { return AsResult(runtime::cudaMallocHost(pointer, bytes)); }
CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return AsResult(runtime::cudaHostAlloc(pointer, bytes, flags));
}
CUresult cuMemFreeHost(void* pointer) { return AsResult(runtime::cudaFreeHost(pointer)); }
CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
  return AsResult(runtime::cudaHostRegister(pointer, bytes, flags));
}
CUresult cuMemHostUnregister(void* pointer) { return AsResult(runtime::cudaHostUnregister(pointer)); }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned int flags) {
  return AsResult(runtime::cudaHostGetDevicePointer(AsPointers(address), pointer, flags));
}
CUresult cuMemHostGetFlags(unsigned int* flags, void* pointer) {
  return AsResult(runtime::cudaHostGetFlags(flags, pointer));
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  uintptr_t begin = 0;
  uint64_t size = 0;
  if (!Simulator::Get().memory().FindAllocation(Pointer(address), &begin, &size)) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = begin;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Memory& memory = Simulator::Get().memory();
  const MemoryKind kind = memory.KindOf(Pointer(address));
  if (kind == MemoryKind::kPageable) return CUDA_ERROR_INVALID_VALUE;
  uintptr_t begin = 0;
  uint64_t size = 0;
  memory.FindAllocation(Pointer(address), &begin, &size);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<void**>(data) = Simulator::Get().device(memory.DeviceOf(Pointer(address)));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<CUmemorytype*>(data) = TypeOf(kind);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (kind == MemoryKind::kDevice) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<CUdeviceptr*>(data) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(data) = kind == MemoryKind::kManaged;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = memory.DeviceOf(Pointer(address));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = begin;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(data) = size;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<unsigned*>(data) = 1;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(data) = begin;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<void**>(data) = Simulator::Get().pools().PoolOf(Pointer(begin));
      return CUDA_SUCCESS;
    default:
      return NotSupported("cuPointerGetAttribute of that attribute");
  }
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i) {
    // What does not apply to the pointer stays as it is; only the arguments can be wrong.
    driver::cuPointerGetAttribute(data[i], attributes[i], address);
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr) { return CUDA_SUCCESS; }

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return AsResult(runtime::cudaMallocAsync(AsPointers(address), bytes, stream));
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return AsResult(runtime::cudaFreeAsync(Pointer(address), stream));
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return AsResult(runtime::cudaMallocFromPoolAsync(AsPointers(address), bytes, pool, stream));
}
// The structs of pools have the same fields at the same places in both APIs.
static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps) &&
              sizeof(CUmemAccessDesc) == sizeof(cudaMemAccessDesc));
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return AsResult(runtime::cudaMemPoolCreate(pool, reinterpret_cast<const cudaMemPoolProps*>(properties)));
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) { return AsResult(runtime::cudaMemPoolDestroy(pool)); }
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) { return AsResult(runtime::cudaMemPoolTrimTo(pool, bytes)); }
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return AsResult(runtime::cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value));
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return AsResult(runtime::cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value));
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return AsResult(runtime::cudaMemPoolSetAccess(pool, reinterpret_cast<const cudaMemAccessDesc*>(map), count));
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return AsResult(runtime::cudaMemPoolGetAccess(reinterpret_cast<cudaMemAccessFlags*>(flags), pool,
                                                reinterpret_cast<cudaMemLocation*>(location)));
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return AsResult(runtime::cudaDeviceGetDefaultMemPool(pool, device));
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return AsResult(runtime::cudaDeviceGetMemPool(pool, device));
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return AsResult(runtime::cudaDeviceSetMemPool(device, pool));
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return AsResult(runtime::cudaMemAdvise(Pointer(address), bytes, static_cast<cudaMemoryAdvise>(advice),
                                         {static_cast<cudaMemLocationType>(location.type), location.id}));
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                               CUstream stream) {
  return AsResult(runtime::cudaMemPrefetchAsync(
      Pointer(address), bytes, {static_cast<cudaMemLocationType>(location.type), location.id}, flags, stream));
}

// The handles of both APIs are 64 bytes without structure.
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return AsResult(runtime::cudaIpcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t*>(handle), Pointer(address)));
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags) {
  return AsResult(
      runtime::cudaIpcOpenMemHandle(AsPointers(address), reinterpret_cast<cudaIpcMemHandle_t&>(handle), flags));
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) { return AsResult(runtime::cudaIpcCloseMemHandle(Pointer(address))); }
CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return AsResult(runtime::cudaIpcGetEventHandle(reinterpret_cast<cudaIpcEventHandle_t*>(handle), event));
}
CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return AsResult(runtime::cudaIpcOpenEventHandle(event, reinterpret_cast<cudaIpcEventHandle_t&>(handle)));
}

}  // namespace simgpu::driver
