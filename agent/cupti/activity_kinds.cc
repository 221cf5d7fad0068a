// Which activity kinds and which callbacks each level of detail turns on.
#include "agent/cuda/call_table.h"
#include "agent/cuda/memory_calls.h"
#include "agent/cupti/mps.h"
#include "agent/cupti/session_state.h"

namespace stallscope::agent {
namespace {

using wire::Level;

struct Kind {
  CUpti_ActivityKind kind;
  Level from;  // enabled from this level on
  Level until;
};
// Graph-level records replace the records of a graph's nodes; at the level that wants each node they are off.
constexpr Kind kKinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_MEMCPY, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_MEMSET, Level::kBudget, Level::kNodes},
    // Says no more about a wait than the call does; for people who look at every record.
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, Level::kKernels, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, Level::kBudget, Level::kKernels},
    // Rare where a program is well written, and telling where it is not.
    {CUPTI_ACTIVITY_KIND_MEMORY2, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_JIT, Level::kBudget, Level::kNodes},
    // When functions are loaded at their first use; but also each flush of ours, and every full queue.
    {CUPTI_ACTIVITY_KIND_OVERHEAD, Level::kKernels, Level::kNodes},
    // Makes the driver watch every page: only for who wants to see much, and once there is managed memory.
    {CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, Level::kKernels, Level::kNodes},
};
constexpr uint32_t kKindCount = sizeof(kKinds) / sizeof(kKinds[0]);
static_assert(kKindCount <= 32);

constexpr uint32_t BitOf(CUpti_ActivityKind kind) {
  for (uint32_t i = 0; i < kKindCount; ++i) {
    if (kKinds[i].kind == kind) return 1u << i;
  }
  return 0;
}
constexpr uint32_t kMemoryBit = BitOf(CUPTI_ACTIVITY_KIND_MEMORY2);

// Which counters are kept, on all devices. For the process-wide interface alone.
bool ConfigureUnifiedMemory(CuptiInterface* cupti) noexcept {
  if (cupti->per_subscriber() || cupti->functions.cuptiActivityConfigureUnifiedMemoryCounter == nullptr) return false;
  CUpti_ActivityUnifiedMemoryCounterConfig configs[] = {
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 0, 1},
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, 0, 1},
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, 0, 1},
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 0, 1},
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING, 0, 1},
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING, 0, 1},
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP, 0, 1},
      {{}, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, 0, 1},
  };
  for (auto& config : configs) config.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
  return cupti->functions.cuptiActivityConfigureUnifiedMemoryCounter(configs, sizeof(configs) / sizeof(configs[0])) ==
         CUPTI_SUCCESS;
}

void SwitchCallbacks(bool on) noexcept {
  CuptiSession& session = g_cupti_session;
  if (session.callbacks_on == on) return;
  for (uint32_t i = 0; i < kCudaCallCount; ++i) {
    const CudaCallInfo& call = kCudaCalls[i];
    const CUpti_CallbackDomain domain =
        call.domain == wire::CudaDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    // An older library refuses the ids that it does not know: those calls are seen by interposition alone.
    session.cupti.functions.cuptiEnableCallback(on ? 1 : 0, session.cupti.subscriber(), domain, call.callback_id);
  }
  session.callbacks_on = on;
}

}  // namespace

void ApplyDetail(const Detail& detail) noexcept {
  CuptiSession& session = g_cupti_session;
  const Level level = detail.level;
  session.decoder.SetShapes(level >= Level::kKernels);
  // A call that gets a correlation id must get its record: the ids end before the records do, and begin after them.
  if (level == Level::kOff) SwitchCallbacks(false);
  const bool kernels = KernelsMayBeTraced(session.decoder.mps());
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < kKindCount; ++i) {
    const bool is_graph = kKinds[i].kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    if (!detail.gpu_records || (detail.nodes && is_graph)) continue;
    if (kKinds[i].kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !kernels) continue;
    if (kKinds[i].kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER && !session.decoder.managed_memory()) continue;
    if (level >= kKinds[i].from && level <= kKinds[i].until) wanted |= 1u << i;
  }
  for (uint32_t i = 0; i < kKindCount; ++i) {
    const uint32_t bit = 1u << i;
    if ((wanted & bit) == (session.kinds_on & bit) || (session.kinds_refused & bit) != 0) continue;
    if ((wanted & bit) != 0 && kKinds[i].kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER &&
        !ConfigureUnifiedMemory(&session.cupti)) {
      session.kinds_refused |= bit;  // a driver or GPU without it
      continue;
    }
    const CUptiResult result =
        (wanted & bit) != 0 ? session.cupti.Enable(kKinds[i].kind) : session.cupti.Disable(kKinds[i].kind);
    CheckCupti(result);
    if (result == CUPTI_SUCCESS) {
      session.kinds_on ^= bit;
    } else if ((wanted & bit) != 0) {
      session.kinds_refused |= bit;
    }
  }
  g_memory_records_come.store((session.kinds_on & kMemoryBit) != 0, std::memory_order_relaxed);
  if (level != Level::kOff) SwitchCallbacks(true);
}

void ForgetKinds() noexcept {
  g_cupti_session.kinds_on = 0;
  g_cupti_session.kinds_refused = 0;
}

}  // namespace stallscope::agent
