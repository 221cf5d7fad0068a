#include "tests/simgpu/cupti/unified_memory.h"

#include <cupti.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {
namespace {

constexpr uint64_t kFaultNs = 20'000;  // serving one group of faults

std::atomic<uint64_t> managed_address{0};
std::atomic<bool> configured{false};

}  // namespace

void NoteManagedMemory(uint64_t address) { managed_address.store(address, std::memory_order_relaxed); }

void WritePageFaults(Client* client, const Operation& operation) {
  const uint64_t faults = Simulator::Get().config().managed_faults;
  if (__builtin_expect(faults == 0, 1)) return;
  const uint64_t address = managed_address.load(std::memory_order_relaxed);
  if (address == 0 || !configured.load() || !client->KindOn(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)) return;
  CUpti_ActivityUnifiedMemoryCounter3 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  record.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
  record.value = faults;
  record.start = StampNow();
  record.end = record.start + kFaultNs;
  record.address = address;
  record.srcId = static_cast<uint32_t>(operation.stream->device()->ordinal());
  record.processId = static_cast<uint32_t>(getpid());
  client->Write(record);
}

}  // namespace simgpu::cupti

extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig* configs, uint32_t count) {
  if (configs == nullptr || count == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  for (uint32_t i = 0; i < count; ++i) {
    if (configs[i].kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN ||
        configs[i].kind >= CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (configs[i].kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT) {
      simgpu::cupti::configured.store(configs[i].enable != 0);
    }
  }
  return CUPTI_SUCCESS;
}
