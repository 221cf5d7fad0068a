#include "tests/simgpu/cupti/memory_records.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/pools.h"
#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/stamp.h"
#include "tests/simgpu/cupti/unified_memory.h"

namespace simgpu::cupti {
namespace {

constexpr uint32_t kNoStream = CUPTI_INVALID_STREAM_ID;

struct Allocation {
  uint64_t bytes = 0;
  CUpti_ActivityMemoryKind kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  uint64_t pool = 0;  // 0: not from a pool
};

struct MemoryEvent {
  uint64_t address;
  Allocation allocation;
  bool frees;
  bool asynchronous;
  uint32_t stream_id;
};

struct PoolEvent {
  CUpti_ActivityMemoryPoolOperationType type;
  uint64_t address;
  uint64_t keep_bytes;
};

// What was allocated while the kind was on, so that the end of an allocation knows its size.
struct Known {
  std::mutex mutex;
  std::unordered_map<uint64_t, Allocation> allocations;
};
Known& KnownAllocations() {
  static auto* known = new Known;
  return *known;
}

Allocation TakeKnown(uint64_t address) {
  Known& known = KnownAllocations();
  std::lock_guard lock(known.mutex);
  const auto found = known.allocations.find(address);
  if (found == known.allocations.end()) return {};
  const Allocation allocation = found->second;
  known.allocations.erase(found);
  return allocation;
}

template <typename Params>
const Params& As(const ApiCall& call) {
  return *static_cast<const Params*>(call.params);
}

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

MemoryEvent Allocated(const void* pointer, uint64_t bytes, CUpti_ActivityMemoryKind kind) {
  return {Address(pointer), {bytes, kind, 0}, false, false, kNoStream};
}
MemoryEvent AllocatedOnStream(const void* pointer, uint64_t bytes, const void* stream) {
  const Pool* pool = Simulator::Get().pools().PoolOf(pointer);
  return {
      Address(pointer), {bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, Address(pool)}, false, true, StreamOf(stream)->id()};
}
MemoryEvent Freed(uint64_t address) { return {address, TakeKnown(address), true, false, kNoStream}; }
MemoryEvent FreedOnStream(uint64_t address, const void* stream) {
  return {address, TakeKnown(address), true, true, StreamOf(stream)->id()};
}

std::optional<MemoryEvent> RuntimeEvent(const ApiCall& call) {
  switch (call.cbid) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020: {
      const auto& p = As<cudaMalloc_v3020_params>(call);
      return Allocated(*p.devPtr, p.size, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020: {
      const auto& p = As<cudaMallocPitch_v3020_params>(call);
      return Allocated(*p.devPtr, *p.pitch * p.height, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000: {
      const auto& p = As<cudaMallocManaged_v6000_params>(call);
      return Allocated(*p.devPtr, p.size, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocHost_v3020: {
      const auto& p = As<cudaMallocHost_v3020_params>(call);
      return Allocated(*p.ptr, p.size, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020: {
      const auto& p = As<cudaHostAlloc_v3020_params>(call);
      return Allocated(*p.pHost, p.size, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020:
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020: {
      const auto& p = As<cudaMallocAsync_v11020_params>(call);
      return AllocatedOnStream(*p.devPtr, p.size, p.hStream);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020:
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020: {
      const auto& p = As<cudaMallocFromPoolAsync_v11020_params>(call);
      return AllocatedOnStream(*p.ptr, p.size, p.stream);
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020:
      return Freed(Address(As<cudaFree_v3020_params>(call).devPtr));
    case CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020:
      return Freed(Address(As<cudaFreeHost_v3020_params>(call).ptr));
    case CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020:
    case CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_ptsz_v11020: {
      const auto& p = As<cudaFreeAsync_v11020_params>(call);
      return FreedOnStream(Address(p.devPtr), p.hStream);
    }
    default:
      return std::nullopt;
  }
}

std::optional<MemoryEvent> DriverEvent(const ApiCall& call) {
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2: {
      const auto& p = As<cuMemAlloc_v2_params>(call);
      return Allocated(reinterpret_cast<const void*>(*p.dptr), p.bytesize, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz: {
      const auto& p = As<cuMemAllocAsync_params>(call);
      return AllocatedOnStream(reinterpret_cast<const void*>(*p.dptr), p.bytesize, p.hStream);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      return Freed(As<cuMemFree_v2_params>(call).dptr);
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz: {
      const auto& p = As<cuMemFreeAsync_params>(call);
      return FreedOnStream(p.dptr, p.hStream);
    }
    default:
      return std::nullopt;
  }
}

std::optional<PoolEvent> PoolEventOf(const ApiCall& call) {
  if (call.domain != ApiDomain::kRuntime) return std::nullopt;
  switch (call.cbid) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolCreate_v11020:
      return PoolEvent{CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED,
                       Address(*As<cudaMemPoolCreate_v11020_params>(call).memPool), 0};
    case CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolDestroy_v11020:
      return PoolEvent{CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED,
                       Address(As<cudaMemPoolDestroy_v11020_params>(call).memPool), 0};
    case CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolTrimTo_v11020: {
      const auto& p = As<cudaMemPoolTrimTo_v11020_params>(call);
      return PoolEvent{CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, Address(p.memPool), p.minBytesToKeep};
    }
    default:
      return std::nullopt;
  }
}

// What a pool looks like now; all zero when it is no more.
struct PoolState {
  uint64_t size_bytes = 0, used_bytes = 0, release_threshold_bytes = 0;
};
PoolState StateOf(uint64_t address) {
  auto* pool = reinterpret_cast<Pool*>(address);
  Pools& pools = Simulator::Get().pools();
  if (!pools.Exists(pool)) return {};
  std::lock_guard lock(pools.mutex());
  return {pool->reserved_bytes, pool->used_bytes, pool->release_threshold_bytes};
}

void WriteMemory(const MemoryEvent& event, uint32_t correlation_id) {
  CUpti_ActivityMemory4 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType =
      event.frees ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = event.allocation.kind;
  record.correlationId = correlation_id;
  record.address = event.address;
  record.bytes = event.allocation.bytes;
  record.timestamp = StampNow();
  record.processId = static_cast<uint32_t>(getpid());
  record.deviceId = static_cast<uint32_t>(CurrentOrdinal());
  record.contextId = CurrentDevice()->context_id();
  record.streamId = event.stream_id;
  record.isAsync = event.asynchronous ? 1 : 0;
  if (event.allocation.pool != 0) {
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.memoryPoolConfig.address = event.allocation.pool;
    const PoolState state = StateOf(event.allocation.pool);
    record.memoryPoolConfig.releaseThreshold = state.release_threshold_bytes;
    record.memoryPoolConfig.pool.size = state.size_bytes;
    record.memoryPoolConfig.utilizedSize = state.used_bytes;
  }
  Clients::Get().Each([&record](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_MEMORY2)) client.Write(record);
  });
}

void WritePool(const PoolEvent& event, uint32_t correlation_id) {
  CUpti_ActivityMemoryPool3 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolOperationType = event.type;
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.correlationId = correlation_id;
  record.processId = static_cast<uint32_t>(getpid());
  record.deviceId = static_cast<uint32_t>(CurrentOrdinal());
  record.minBytesToKeep = event.keep_bytes;
  record.address = event.address;
  record.timestamp = StampNow();
  const PoolState state = StateOf(event.address);
  record.size = state.size_bytes;
  record.releaseThreshold = state.release_threshold_bytes;
  record.utilizedSize = state.used_bytes;
  Clients::Get().Each([&record](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) client.Write(record);
  });
}

}  // namespace

void WriteMemoryRecords(const ApiCall& call) {
  if (call.result != 0 || call.params == nullptr || CurrentCall() != nullptr) return;
  if (const auto event = call.domain == ApiDomain::kRuntime ? RuntimeEvent(call) : DriverEvent(call)) {
    if (event->address == 0) return;  // freeing nothing
    if (!event->frees) {
      if (event->allocation.kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) NoteManagedMemory(event->address);
      Known& known = KnownAllocations();
      std::lock_guard lock(known.mutex);
      known.allocations[event->address] = event->allocation;
    }
    WriteMemory(*event, call.correlation_id);
  }
  if (const auto event = PoolEventOf(call)) WritePool(*event, call.correlation_id);
}

}  // namespace simgpu::cupti
