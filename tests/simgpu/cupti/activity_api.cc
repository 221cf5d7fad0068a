// The activity API of the process: functions without a subscriber.
#include <cupti.h>

#include <chrono>
#include <thread>

#include "tests/simgpu/core/graph.h"
#include "tests/simgpu/cupti/activity_functions.h"
#include "tests/simgpu/cupti/buffers.h"
#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/next_record.h"
#include "tests/simgpu/cupti/stamp.h"

using simgpu::cupti::Client;
using simgpu::cupti::Clients;

// The client of functions without a subscriber, unless the process has subscribers that share CUPTI.
#define SIMGPU_PROCESS_CLIENT(client)                                       \
  if (!Clients::Get().UseProcessScope()) return CUPTI_ERROR_NOT_COMPATIBLE; \
  Client* const client = &Clients::Get().process()

namespace {

class ProcessLender : public simgpu::cupti::BufferLender {
 public:
  ProcessLender(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
      : request_(request), complete_(complete) {}
  void Request(uint8_t** bytes, size_t* capacity_bytes, size_t* max_records) override {
    request_(bytes, capacity_bytes, max_records);
  }
  void Complete(uint8_t* bytes, size_t capacity_bytes, size_t used_bytes) override {
    complete_(nullptr, 0, bytes, capacity_bytes, used_bytes);
  }

 private:
  const CUpti_BuffersCallbackRequestFunc request_;
  const CUpti_BuffersCallbackCompleteFunc complete_;
};

void ReleaseFinished(void* client) { static_cast<Client*>(client)->unfinished.ReleaseFinished(); }

}  // namespace

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                                  CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  SIMGPU_PROCESS_CLIENT(client);
  client->buffers.Register(new ProcessLender(request, complete));  // never freed: calls in flight may use the old one
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  SIMGPU_PROCESS_CLIENT(client);
  return EnableKind(client, kind);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  SIMGPU_PROCESS_CLIENT(client);
  return EnableKindAndDump(client, kind);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  SIMGPU_PROCESS_CLIENT(client);
  return DisableKind(client, kind);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) {
  return cuptiActivityEnable(kind);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext, CUpti_ActivityKind kind) {
  return cuptiActivityDisable(kind);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
  SIMGPU_PROCESS_CLIENT(client);
  return SetApiRecord(client, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  SIMGPU_PROCESS_CLIENT(client);
  return SetApiRecord(client, CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  Clients::Get().process().switches.latency_timestamps.store(enable != 0);
  return CUPTI_SUCCESS;
}

// Queries make no synchronization records here, so there is nothing to switch.
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }
// CUDA events can be enabled and give no records.
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  bool registered = false;
  if (simgpu::cupti::FaultOn(simgpu::cupti::Fault::kSlowFlush)) {
    const uint64_t milliseconds = simgpu::cupti::ActiveFaults().Parameter(simgpu::cupti::Fault::kSlowFlush);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
  const uint64_t begin_stamp_ns = simgpu::cupti::StampNow();
  const bool forced = (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
  Clients::Get().Each([&registered, forced](Client& client) {
    if (!client.buffers.registered()) return;
    registered = true;
    if (forced) {
      client.unfinished.ReleaseAll();
    } else {
      client.unfinished.ReleaseFinished();
    }
    client.buffers.Flush(forced);
  });
  if (!registered) return CUPTI_ERROR_INVALID_OPERATION;
  simgpu::cupti::WriteOverhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, begin_stamp_ns, simgpu::cupti::StampNow());
  simgpu::cupti::TakeRecordsWritten();  // the flushing thread's time is its own
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  return cuptiActivityFlushAll(flag);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t period_ms) {
  Clients::Get().Each([period_ms](Client& client) { client.buffers.SetPeriod(period_ms, ReleaseFinished, &client); });
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                                              CUpti_Activity** record) {
  return simgpu::cupti::NextRecord(simgpu::cupti::ActiveLayout(), buffer, valid_bytes, record);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  SIMGPU_PROCESS_CLIENT(client);
  *dropped = client->buffers.TakeDropped();
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  if (callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!Clients::Get().UseProcessScope()) return CUPTI_ERROR_NOT_COMPATIBLE;
  simgpu::cupti::SetTimestampCallback(callback);
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                                             void* value) {
  SIMGPU_PROCESS_CLIENT(client);
  return SetAttribute(client, attribute, bytes, value);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes,
                                                             void* value) {
  SIMGPU_PROCESS_CLIENT(client);
  return GetAttribute(client, attribute, bytes, value);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                                          uint64_t id) {
  SIMGPU_PROCESS_CLIENT(client);
  return simgpu::cupti::PushExternalId(*client, kind, id);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                                         uint64_t* id) {
  SIMGPU_PROCESS_CLIENT(client);
  return simgpu::cupti::PopExternalId(*client, kind, id);
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return CUPTI_ERROR_NOT_SUPPORTED;
  Clients::Get().system_thread_ids.store(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  return CUPTI_SUCCESS;
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *type = Clients::Get().system_thread_ids.load() ? CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
                                                  : CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  return CUPTI_SUCCESS;
}

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  bool shared = false;  // asking for the time settles nothing, but does not work beside sharing subscribers either
  Clients::Get().Each([&shared](Client& client) { shared = shared || client.shares; });
  if (shared) return CUPTI_ERROR_NOT_COMPATIBLE;
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
  Clients::Get().Each([](Client& client) {
    for (uint32_t kind = 0; kind < 64; ++kind) {
      if (client.KindOn(kind)) client.switches.SetKind(kind, false);
    }
  });
  Clients::Get().Connect();
  simgpu::cupti::ConnectHooks(false);
  return CUPTI_SUCCESS;
}
