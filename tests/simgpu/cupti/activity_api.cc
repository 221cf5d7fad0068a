// libcupti.so.13, the activity API.
#include <cupti.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/buffers.h"
#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/next_record.h"
#include "tests/simgpu/cupti/stamp.h"
#include "tests/simgpu/cupti/switches.h"
#include "tests/simgpu/cupti/unfinished.h"

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

using simgpu::cupti::ActiveFault;
using simgpu::cupti::ActivityBuffers;
using simgpu::cupti::Fault;
using simgpu::cupti::Switches;
using simgpu::cupti::UnfinishedRecords;

namespace {

bool KnownKind(CUpti_ActivityKind kind) { return simgpu::cupti::RecordBytes(static_cast<uint32_t>(kind)) != 0; }

void ReleaseFinished() { UnfinishedRecords::Get().ReleaseFinished(); }

CUptiResult SetApiRecord(uint32_t domain, CUpti_CallbackId cbid, uint8_t enable) {
  if (cbid >= simgpu::cupti::kMaxFunctions) return CUPTI_ERROR_INVALID_PARAMETER;
  Switches::Get().SetApiRecord(domain, cbid, enable != 0);
  return CUPTI_SUCCESS;
}

// Attributes are accepted and remembered; none changes what the simulation does.
struct Attributes {
  std::mutex mutex;
  std::map<CUpti_ActivityAttribute, std::vector<uint8_t>> values;
};
Attributes& StoredAttributes() {
  static auto* attributes = new Attributes;
  return *attributes;
}

}  // namespace

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                                  CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  ActivityBuffers::Get().Register(request, complete);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (ActiveFault() == Fault::kNoDriver) return CUPTI_ERROR_UNKNOWN;
  if (!KnownKind(kind)) return CUPTI_ERROR_INVALID_KIND;
  if (ActiveFault() == Fault::kNoGraphTrace && kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
    return CUPTI_ERROR_NOT_COMPATIBLE;
  Switches::Get().SetKind(kind, true);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  const CUptiResult result = cuptiActivityEnable(kind);
  if (result != CUPTI_SUCCESS) return result;
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) simgpu::cupti::DumpDevices();
  if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) simgpu::cupti::DumpContexts();
  if (kind == CUPTI_ACTIVITY_KIND_STREAM) simgpu::cupti::DumpStreams();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (!KnownKind(kind)) return CUPTI_ERROR_INVALID_KIND;
  Switches::Get().SetKind(kind, false);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) {
  return cuptiActivityEnable(kind);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext, CUpti_ActivityKind kind) {
  return cuptiActivityDisable(kind);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
  return SetApiRecord(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  return SetApiRecord(CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  Switches::Get().latency_timestamps.store(enable != 0);
  return CUPTI_SUCCESS;
}

// Queries make no synchronization records here, so there is nothing to switch.
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  if (!ActivityBuffers::Get().registered()) return CUPTI_ERROR_INVALID_OPERATION;
  const uint64_t begin_stamp_ns = simgpu::cupti::StampNow();
  if ((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0) {
    UnfinishedRecords::Get().ReleaseAll();
  } else {
    ReleaseFinished();
  }
  ActivityBuffers::Get().Flush();
  simgpu::cupti::WriteOverhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, begin_stamp_ns, simgpu::cupti::StampNow());
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  return cuptiActivityFlushAll(flag);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t period_ms) {
  ActivityBuffers::Get().SetPeriod(period_ms, ReleaseFinished);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                                              CUpti_Activity** record) {
  return simgpu::cupti::NextRecord(buffer, valid_bytes, record);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = ActivityBuffers::Get().TakeDropped();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  if (callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  simgpu::cupti::SetTimestampCallback(callback);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                                             void* value) {
  if (bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Attributes& attributes = StoredAttributes();
  std::lock_guard lock(attributes.mutex);
  attributes.values[attribute].assign(static_cast<uint8_t*>(value), static_cast<uint8_t*>(value) + *bytes);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                                             void* value) {
  if (bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Attributes& attributes = StoredAttributes();
  std::lock_guard lock(attributes.mutex);
  std::memset(value, 0, *bytes);
  const auto found = attributes.values.find(attribute);
  if (found == attributes.values.end()) return CUPTI_SUCCESS;
  if (*bytes < found->second.size()) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::memcpy(value, found->second.data(), found->second.size());
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                                          uint64_t id) {
  return simgpu::cupti::PushExternalId(kind, id);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                                         uint64_t* id) {
  return simgpu::cupti::PopExternalId(kind, id);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return CUPTI_ERROR_NOT_SUPPORTED;
  Switches::Get().system_thread_ids.store(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  return CUPTI_SUCCESS;
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *type = Switches::Get().system_thread_ids.load() ? CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
                                                   : CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = simgpu::cupti::StampNow();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  if (exec == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<const simgpu::GraphExec*>(exec)->id;
  return CUPTI_SUCCESS;
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  if (graph == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<const simgpu::Graph*>(graph)->id;
  return CUPTI_SUCCESS;
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  if (node == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<const simgpu::GraphNode*>(node)->id;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiFinalize(void) {
  for (uint32_t kind = 0; kind < 64; ++kind) {
    if (Switches::Get().KindOn(kind)) Switches::Get().SetKind(kind, false);
  }
  simgpu::cupti::ConnectHooks(false);
  return CUPTI_SUCCESS;
}
