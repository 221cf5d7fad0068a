// Stream-ordered allocation and memory pools.
//
// Memory is taken and given back when the call is made, since no kernel touches it; the order of streams only matters to
// copies, which have moved their bytes by then. A pool that has to grow costs the host time of an allocation.
#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

Pool* FindPool(cudaMemPool_t handle) {
  auto* pool = reinterpret_cast<Pool*>(handle);
  return Simulator::Get().pools().Exists(pool) ? pool : nullptr;
}

cudaMemPool_t HandleOf(Pool* pool) { return reinterpret_cast<cudaMemPool_t>(pool); }

cudaError_t Allocate(void** pointer, size_t bytes, Pool* pool, cudaStream_t handle) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Simulator& simulator = Simulator::Get();
  bool grew = false;
  *pointer = simulator.pools().Allocate(pool, bytes, &grew);
  if (*pointer == nullptr) return cudaErrorMemoryAllocation;
  if (Capture* capture = FindStream(handle)->capture.load(std::memory_order_acquire)) {
    // The graph holds the memory from here on; it goes with the last graph that allocates it.
    MemoryWork work;
    work.address = *pointer;
    work.bytes = bytes;
    work.owner = std::shared_ptr<void>(*pointer, [](void* owned) { Simulator::Get().pools().Free(owned); });
    capture->Append(FindStream(handle), work);
    return cudaSuccess;
  }
  if (grew) simulator.SpendHostTime(simulator.config().malloc_ns);
  return cudaSuccess;
}

// Which field an attribute stands for; null for the reuse attributes, which are ints.
uint64_t* Field(Pool* pool, cudaMemPoolAttr attribute) {
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
      return &pool->release_threshold_bytes;
    case cudaMemPoolAttrReservedMemCurrent:
      return &pool->reserved_bytes;
    case cudaMemPoolAttrReservedMemHigh:
      return &pool->reserved_high_bytes;
    case cudaMemPoolAttrUsedMemCurrent:
      return &pool->used_bytes;
    case cudaMemPoolAttrUsedMemHigh:
      return &pool->used_high_bytes;
    default:
      return nullptr;
  }
}

int* ReuseField(Pool* pool, cudaMemPoolAttr attribute) {
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
      return &pool->reuse[0];
    case cudaMemPoolReuseAllowOpportunistic:
      return &pool->reuse[1];
    case cudaMemPoolReuseAllowInternalDependencies:
      return &pool->reuse[2];
    default:
      return nullptr;
  }
}

}  // namespace

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  const int ordinal = FindStream(stream)->device()->ordinal();
  return Allocate(pointer, bytes, Simulator::Get().pools().CurrentOf(ordinal), stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t handle, cudaStream_t stream) {
  Pool* pool = FindPool(handle);
  return pool == nullptr ? cudaErrorInvalidValue : Allocate(pointer, bytes, pool, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  if (pointer == nullptr) return cudaSuccess;
  if (Capture* capture = FindStream(handle)->capture.load(std::memory_order_acquire)) {
    MemoryWork work;
    work.address = pointer;
    work.frees = true;
    capture->Append(FindStream(handle), work);
    return cudaSuccess;
  }
  Simulator& simulator = Simulator::Get();
  if (simulator.pools().Free(pointer)) return cudaSuccess;
  return simulator.memory().FreeDevice(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps* properties) {
  if (handle == nullptr || properties == nullptr) return cudaErrorInvalidValue;
  const bool on_device = properties->location.type == cudaMemLocationTypeDevice;
  if (on_device && !ValidOrdinal(properties->location.id)) return cudaErrorInvalidDevice;
  if (!on_device) return NotSupported("cudaMemPoolCreate of host memory");
  *handle = HandleOf(Simulator::Get().pools().Create(properties->location.id, properties->maxSize));
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return Simulator::Get().pools().Destroy(reinterpret_cast<Pool*>(pool)) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t keep_bytes) {
  Pool* pool = FindPool(handle);
  if (pool == nullptr) return cudaErrorInvalidValue;
  Simulator::Get().pools().Trim(pool, keep_bytes);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  Pool* pool = FindPool(handle);
  if (pool == nullptr || value == nullptr) return cudaErrorInvalidValue;
  std::lock_guard lock(Simulator::Get().pools().mutex());
  if (const uint64_t* field = Field(pool, attribute)) {
    *static_cast<uint64_t*>(value) = *field;
    return cudaSuccess;
  }
  const int* reuse = ReuseField(pool, attribute);
  if (reuse == nullptr) return cudaErrorInvalidValue;
  *static_cast<int*>(value) = *reuse;
  return cudaSuccess;
}

// The high-water marks can only be set to zero, which means: to the present value.
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  Pool* pool = FindPool(handle);
  if (pool == nullptr || value == nullptr) return cudaErrorInvalidValue;
  std::lock_guard lock(Simulator::Get().pools().mutex());
  if (int* reuse = ReuseField(pool, attribute)) {
    *reuse = *static_cast<const int*>(value);
    return cudaSuccess;
  }
  const uint64_t wish = *static_cast<const uint64_t*>(value);
  if (attribute == cudaMemPoolAttrReleaseThreshold) {
    pool->release_threshold_bytes = wish;
  } else if (attribute == cudaMemPoolAttrReservedMemHigh && wish == 0) {
    pool->reserved_high_bytes = pool->reserved_bytes;
  } else if (attribute == cudaMemPoolAttrUsedMemHigh && wish == 0) {
    pool->used_high_bytes = pool->used_bytes;
  } else {
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* descriptions, size_t count) {
  Pool* pool = FindPool(handle);
  if (pool == nullptr || (descriptions == nullptr && count != 0)) return cudaErrorInvalidValue;
  std::lock_guard lock(Simulator::Get().pools().mutex());
  for (size_t i = 0; i < count; ++i) {
    if (!ValidOrdinal(descriptions[i].location.id)) return cudaErrorInvalidDevice;
    pool->access[descriptions[i].location.id] = descriptions[i].flags;
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* location) {
  Pool* pool = FindPool(handle);
  if (pool == nullptr || flags == nullptr || location == nullptr) return cudaErrorInvalidValue;
  std::lock_guard lock(Simulator::Get().pools().mutex());
  const auto set = pool->access.find(location->id);
  if (location->id == pool->device) {
    *flags = cudaMemAccessFlagsProtReadWrite;
  } else {
    *flags = set == pool->access.end() ? cudaMemAccessFlagsProtNone : static_cast<cudaMemAccessFlags>(set->second);
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  *pool = HandleOf(Simulator::Get().pools().DefaultOf(device));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  *pool = HandleOf(Simulator::Get().pools().CurrentOf(device));
  return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  Pool* pool = FindPool(handle);
  if (pool == nullptr || pool->device != device) return cudaErrorInvalidValue;
  Simulator::Get().pools().SetCurrent(device, pool);
  return cudaSuccess;
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  Simulator::Get().pools().Trim(Simulator::Get().pools().DefaultOf(device), 0);
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType) {
  if (location == nullptr || location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
  return runtime::cudaDeviceGetDefaultMemPool(pool, location->id);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType) {
  if (location == nullptr || location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
  return runtime::cudaDeviceGetMemPool(pool, location->id);
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType, cudaMemPool_t pool) {
  if (location == nullptr || location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
  return runtime::cudaDeviceSetMemPool(location->id, pool);
}
#endif

}  // namespace simgpu::runtime
