// CUPTI's records of memory: allocations (MEMORY2), pools, and what unified memory does.
#include "agent/cupti/activity_decoder.h"
#include "agent/cupti/record_fields.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

using wire::Counter;
using wire::MemoryOperation;

constexpr uint64_t kClockMarginNs = 1'000'000;

void CommitMemory(MemoryOperation operation, uint64_t begin_ns, uint64_t duration_ns, uint64_t address, uint64_t bytes,
                  uint64_t extra, uint32_t place, uint32_t correlation_id) noexcept {
  RecordFields fields;
  fields.begin = begin_ns;
  fields.duration = duration_ns;
  fields.object = address;
  fields.argument = bytes;
  fields.detail = extra;
  fields.id = correlation_id;
  fields.stack = place;
  fields.kind = wire::RecordKind::kMemory;
  fields.call = static_cast<uint16_t>(operation);
  Commit(fields);
}

// 0: a kind that is not told of.
MemoryOperation OperationOf(CUpti_ActivityUnifiedMemoryCounterKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      return MemoryOperation::kMigrateToDevice;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      return MemoryOperation::kMigrateToHost;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
      return MemoryOperation::kMigrateBetweenDevices;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
      return MemoryOperation::kCpuFaults;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
      return MemoryOperation::kGpuFaults;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING:
      return MemoryOperation::kThrashing;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING:
      return MemoryOperation::kThrottling;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP:
      return MemoryOperation::kRemoteMap;
    default:
      return MemoryOperation{0};
  }
}

}  // namespace

bool ActivityDecoder::CheckTime(uint64_t timestamp, const Now& now, uint64_t* at_ns) const noexcept {
  if (timestamp == CUPTI_TIMESTAMP_UNKNOWN) {
    Count(Counter::kGpuZeroTime);
    return false;
  }
  *at_ns = clock_.ToMonotonic(timestamp);
  if (*at_ns > now.ns + kClockMarginNs || *at_ns + kClockMarginNs < process_start_ns_) {
    Count(Counter::kGpuOtherClock);
    return false;
  }
  return true;
}

// Reserved memory changes far less often than memory is taken from it: told only when it did.
void ActivityDecoder::NotePool(uint64_t at_ns, uint64_t pool, uint32_t device, uint64_t reserved_bytes,
                               uint64_t used_bytes) noexcept {
  if (pool == 0) return;
  Pool& known = pools_[(pool * 0x9e3779b97f4a7c15u) >> 58];
  static_assert(kPools == 64);
  if (known.address.load(std::memory_order_relaxed) == pool &&
      known.reserved_bytes.load(std::memory_order_relaxed) == reserved_bytes) {
    return;
  }
  known.address.store(pool, std::memory_order_relaxed);
  known.reserved_bytes.store(reserved_bytes, std::memory_order_relaxed);
  CommitMemory(MemoryOperation::kPoolState, at_ns, 0, pool, reserved_bytes, used_bytes,
               wire::PackMemoryPlace(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, device, 0), 0);
}

void ActivityDecoder::DecodeMemory(const CUpti_ActivityMemory4* memory, uint32_t bytes, const Now& now) noexcept {
  uint64_t at_ns;
  const bool allocates = memory->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  if (!allocates && memory->memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
    return Count(Counter::kGpuUnknownKind);
  }
  if (!CheckTime(memory->timestamp, now, &at_ns)) return;
  if (memory->memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) managed_memory_.store(true, std::memory_order_relaxed);
  const bool from_pool = FIELD_OR_ZERO(memory, bytes, CUpti_ActivityMemory4, memoryPoolConfig.memoryPoolType) ==
                         CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  const uint64_t pool = from_pool ? FIELD_OR_ZERO(memory, bytes, CUpti_ActivityMemory4, memoryPoolConfig.address) : 0;
  const bool async = FIELD_OR_ZERO(memory, bytes, CUpti_ActivityMemory4, isAsync) != 0;
  CommitMemory(allocates ? MemoryOperation::kAllocate : MemoryOperation::kRelease, at_ns, 0, memory->address,
               memory->bytes, pool,
               wire::PackMemoryPlace(memory->memoryKind, memory->deviceId, async ? wire::kMemoryFlagAsync : 0),
               memory->correlationId);
  NotePool(at_ns, pool, memory->deviceId,
           FIELD_OR_ZERO(memory, bytes, CUpti_ActivityMemory4, memoryPoolConfig.pool.size),
           FIELD_OR_ZERO(memory, bytes, CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize));
}

void ActivityDecoder::DecodePool(const CUpti_ActivityMemoryPool3* pool, uint32_t bytes, const Now& now) noexcept {
  uint64_t at_ns;
  MemoryOperation operation;
  switch (pool->memoryPoolOperationType) {
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED:
      operation = MemoryOperation::kPoolCreate;
      break;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED:
      operation = MemoryOperation::kPoolDestroy;
      break;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED:
      operation = MemoryOperation::kPoolTrim;
      break;
    default:
      return Count(Counter::kGpuUnknownKind);
  }
  if (!CheckTime(pool->timestamp, now, &at_ns)) return;
  CommitMemory(operation, at_ns, 0, pool->address, pool->minBytesToKeep, 0,
               wire::PackMemoryPlace(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, pool->deviceId, 0), pool->correlationId);
  if (operation != MemoryOperation::kPoolDestroy) {
    NotePool(at_ns, pool->address, pool->deviceId, pool->size,
             FIELD_OR_ZERO(pool, bytes, CUpti_ActivityMemoryPool3, utilizedSize));
  }
}

void ActivityDecoder::DecodeUnifiedMemory(const CUpti_ActivityUnifiedMemoryCounter3* counter, uint32_t bytes,
                                          const Now& now) noexcept {
  const MemoryOperation operation = OperationOf(counter->counterKind);
  if (operation == MemoryOperation{0}) return Count(Counter::kGpuUnknownKind);
  uint64_t begin_ns, end_ns;
  if (!CheckTime(counter->start, now, &begin_ns)) return;
  // Some counters are moments: their end is not given.
  if (counter->end == CUPTI_TIMESTAMP_UNKNOWN) {
    end_ns = begin_ns;
  } else if (!CheckTime(counter->end, now, &end_ns)) {
    return;
  } else if (end_ns < begin_ns) {
    return Count(Counter::kGpuReversedTime);
  }
  const uint32_t source = FIELD_OR_ZERO(counter, bytes, CUpti_ActivityUnifiedMemoryCounter3, srcId);
  const uint32_t destination = FIELD_OR_ZERO(counter, bytes, CUpti_ActivityUnifiedMemoryCounter3, dstId);
  const uint32_t device =
      operation == MemoryOperation::kMigrateToDevice && destination != CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID ? destination
                                                                                                          : source;
  CommitMemory(operation, begin_ns, end_ns - begin_ns, counter->address, counter->value, 0,
               wire::PackMemoryPlace(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, device, 0), 0);
}

}  // namespace stallscope::agent
