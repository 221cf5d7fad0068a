// CUPTI's records of loaded and compiled code, and of the contexts in which it runs.
#include "agent/cupti/activity_decoder.h"
#include "agent/cupti/record_fields.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

using wire::CodeLoadKind;
using wire::Counter;

// The kernel's number of the thread that CUPTI means: it gives the low half of pthread_self(), or the kernel's number where
// another client has asked for that. 0: no thread that ever recorded.
uint32_t TidOf(uint32_t cupti_thread) noexcept {
  const wire::Header* header = SharedHeader();
  if (header == nullptr || header->slots_offset == 0 || cupti_thread == 0) return 0;
  const auto* slots =
      reinterpret_cast<const wire::ThreadSlot*>(reinterpret_cast<const char*>(header) + header->slots_offset);
  const uint32_t used = header->slots_used.load(std::memory_order_acquire);
  for (uint32_t i = used; i-- > 0;) {
    if (slots[i].state.load(std::memory_order_acquire) != static_cast<uint32_t>(wire::SlotState::kLive)) continue;
    if (static_cast<uint32_t>(slots[i].handle) == cupti_thread || slots[i].tid == cupti_thread) return slots[i].tid;
  }
  return 0;
}

void CommitLoad(CodeLoadKind kind, uint64_t begin_ns, uint64_t end_ns, uint32_t tid, uint32_t correlation_id,
                uint64_t bytes) noexcept {
  RecordFields fields;
  fields.begin = begin_ns;
  fields.duration = end_ns - begin_ns;
  fields.argument = bytes;
  fields.id = correlation_id;
  fields.stack = tid;
  fields.kind = wire::RecordKind::kCodeLoad;
  fields.call = static_cast<uint16_t>(kind);
  Commit(fields);
}

}  // namespace

void ActivityDecoder::DecodeOverhead(const CUpti_ActivityOverhead3* overhead, uint32_t bytes, const Now& now) noexcept {
  CodeLoadKind kind;
  switch (overhead->overheadKind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      kind = CodeLoadKind::kCompiler;
      break;
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      kind = CodeLoadKind::kModule;
      break;
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      kind = CodeLoadKind::kLazyFunction;
      break;
    default:
      return;  // CUPTI's own work
  }
  uint64_t begin_ns, end_ns;
  if (!CheckTime(overhead->start, now, &begin_ns) || !CheckTime(overhead->end, now, &end_ns)) return;
  if (end_ns < begin_ns) return Count(Counter::kGpuReversedTime);
  const uint32_t tid = overhead->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? TidOf(overhead->objectId.pt.threadId) : 0;
  CommitLoad(kind, begin_ns, end_ns, tid, FIELD_OR_ZERO(overhead, bytes, CUpti_ActivityOverhead3, correlationId), 0);
}

void ActivityDecoder::DecodeJit(const CUpti_ActivityJit2* jit, uint32_t bytes, const Now& now) noexcept {
  CodeLoadKind kind;
  switch (jit->jitOperationType) {
    case CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD:
      kind = CodeLoadKind::kJitCacheLoad;
      break;
    case CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE:
      kind = CodeLoadKind::kJitCacheStore;
      break;
    case CUPTI_ACTIVITY_JIT_OPERATION_COMPILE:
      kind = CodeLoadKind::kJitCompile;
      break;
    default:
      return Count(Counter::kGpuUnknownKind);
  }
  uint64_t begin_ns, end_ns;
  if (!CheckTime(jit->start, now, &begin_ns) || !CheckTime(jit->end, now, &end_ns)) return;
  if (end_ns < begin_ns) return Count(Counter::kGpuReversedTime);
  CommitLoad(kind, begin_ns, end_ns, TidOf(FIELD_OR_ZERO(jit, bytes, CUpti_ActivityJit2, threadId)), jit->correlationId,
             jit->cacheSize);
}

void ActivityDecoder::DecodeContext(const CUpti_ActivityContext3* context, uint32_t bytes) noexcept {
  const bool under_mps = context->computeApiKind == CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS;
  if (under_mps) {
    mps_.store(Mps::kYes, std::memory_order_relaxed);
  } else if (context->computeApiKind == CUPTI_ACTIVITY_COMPUTE_API_CUDA && mps() == Mps::kNotKnown) {
    mps_.store(Mps::kNo, std::memory_order_relaxed);
  }
  const bool green = FIELD_OR_ZERO(context, bytes, CUpti_ActivityContext3, isGreenContext) != 0;
  const uint32_t parent = FIELD_OR_ZERO(context, bytes, CUpti_ActivityContext3, parentContextId);
  ReportContext({context->contextId, context->deviceId,
                 FIELD_OR_ZERO(context, bytes, CUpti_ActivityContext3, numMultiprocessors),
                 parent == CUPTI_INVALID_CONTEXT_ID ? 0 : parent, under_mps, green});
}

}  // namespace stallscope::agent
