#include "tests/simgpu/cupti/hooks.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/core/trace.h"
#include "tests/simgpu/cupti/buffers.h"
#include "tests/simgpu/cupti/records.h"
#include "tests/simgpu/cupti/stamp.h"
#include "tests/simgpu/cupti/switches.h"
#include "tests/simgpu/cupti/unfinished.h"

namespace simgpu::cupti {
namespace {

std::atomic<uint32_t> next_correlation_id{1};

struct ExternalId {
  CUpti_ExternalCorrelationKind kind;
  uint64_t id;
};
thread_local std::vector<ExternalId> external_ids;

template <typename Record>
void Write(const Record& record) {
  ActivityBuffers::Get().Write(&record, sizeof record);
}

uint32_t DomainOf(const ApiCall& call) {
  return call.domain == ApiDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
}

void CallSubscriber(ApiCall* call, CUpti_ApiCallbackSite site) {
  Switches& switches = Switches::Get();
  const uint32_t domain = DomainOf(*call);
  if (!switches.CallbackOn(domain, call->cbid)) return;
  const CUpti_CallbackFunc callback = switches.callback();
  if (callback == nullptr) return;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call->name;
  data.functionParams = call->params;
  data.functionReturnValue = site == CUPTI_API_EXIT ? const_cast<void*>(call->result_address) : nullptr;
  data.symbolName = call->symbol_name;
  data.context = reinterpret_cast<CUcontext>(Simulator::Get().device(0));
  data.contextUid = 1;
  data.correlationData = &call->correlation_data;
  data.correlationId = call->correlation_id;
  callback(switches.user_data(), static_cast<CUpti_CallbackDomain>(domain), call->cbid, &data);
}

void ApiEnter(ApiCall* call) {
  if (call->correlation_id == 0) {
    call->correlation_id = next_correlation_id.fetch_add(1, std::memory_order_relaxed);
  }
  CallSubscriber(call, CUPTI_API_ENTER);
  if (Switches::Get().ApiRecordOn(DomainOf(*call), call->cbid)) call->begin_ns = StampNow();
}

void WriteExternalIds(const ApiCall& call) {
  if (!Switches::Get().KindOn(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  // The innermost id of each kind counts.
  uint64_t seen = 0;
  for (auto id = external_ids.rbegin(); id != external_ids.rend(); ++id) {
    const uint64_t bit = uint64_t{1} << (static_cast<uint32_t>(id->kind) & 63);
    if ((seen & bit) != 0) continue;
    seen |= bit;
    Write(ExternalCorrelationRecord(id->kind, id->id, call.correlation_id));
  }
}

void ApiExit(ApiCall* call) {
  if (call->begin_ns != 0 && ActivityBuffers::Get().registered()) {
    if (call->domain == ApiDomain::kRuntime) WriteExternalIds(*call);
    Write(ApiRecord(*call, StampNow(), ThreadId()));
  }
  CallSubscriber(call, CUPTI_API_EXIT);
  UnfinishedRecords::Get().ReleaseFinished();
}

void AddOperation(const Operation& operation) {
  const Switches& switches = Switches::Get();
  UnfinishedRecords& unfinished = UnfinishedRecords::Get();
  if (const auto* kernel = std::get_if<KernelWork>(operation.work)) {
    for (CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL}) {
      if (!switches.KindOn(kind)) continue;
      unfinished.Add(KernelRecord(operation, *kernel, kind, switches.latency_timestamps.load()), operation.span);
      break;
    }
  } else if (const auto* copy = std::get_if<CopyWork>(operation.work)) {
    if (switches.KindOn(CUPTI_ACTIVITY_KIND_MEMCPY)) unfinished.Add(CopyRecord(operation, *copy), operation.span);
  } else if (const auto* fill = std::get_if<FillWork>(operation.work)) {
    if (switches.KindOn(CUPTI_ACTIVITY_KIND_MEMSET)) unfinished.Add(FillRecord(operation, *fill), operation.span);
  }
}

void AddGraph(const GraphOperation& operation) {
  if (Switches::Get().KindOn(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {  // takes the place of the nodes' records
    UnfinishedRecords::Get().Add(GraphRecord(operation), operation.span);
    return;
  }
  for (size_t i = 0; i < operation.exec->nodes.size(); ++i) {
    const GraphNode& node = operation.exec->nodes[i];
    AddOperation({&node.work, operation.stream, operation.correlation_id, operation.queued_ns,
                  (*operation.node_spans)[i], operation.exec->id, node.id});
  }
}

void AddWait(const Wait& wait) {
  if (Switches::Get().KindOn(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) Write(WaitRecord(wait));
}

void AddBackPressure(uint64_t begin_ns, uint64_t end_ns) {
  WriteOverhead(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, StampOf(begin_ns), StampOf(end_ns));
}

void StreamCreated(Stream* stream) {
  if (Switches::Get().KindOn(CUPTI_ACTIVITY_KIND_STREAM)) Write(StreamRecord(*stream, CurrentCorrelationId()));
}

constexpr TraceHooks kHooks = {ApiEnter, ApiExit, AddOperation, AddGraph, AddWait, AddBackPressure, StreamCreated};

}  // namespace

void ConnectHooks(bool wanted) { SetTraceHooks(wanted ? &kHooks : nullptr); }

uint32_t ThreadId() {
  if (Switches::Get().system_thread_ids.load(std::memory_order_relaxed)) {
    thread_local const auto id = static_cast<uint32_t>(syscall(SYS_gettid));
    return id;
  }
  return static_cast<uint32_t>(pthread_self());
}

void WriteOverhead(CUpti_ActivityOverheadKind kind, uint64_t begin_stamp_ns, uint64_t end_stamp_ns) {
  if (!Switches::Get().KindOn(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
  Write(OverheadRecord(kind, begin_stamp_ns, end_stamp_ns, ThreadId(), CurrentCorrelationId()));
}

void DumpDevices() {
  for (int ordinal = 0; ordinal < Simulator::Get().device_count(); ++ordinal) {
    Write(DeviceRecord(*Simulator::Get().device(ordinal)));
  }
}

void DumpContexts() {
  for (int ordinal = 0; ordinal < Simulator::Get().device_count(); ++ordinal) {
    Write(ContextRecord(*Simulator::Get().device(ordinal)));
  }
}

void DumpStreams() {
  for (int ordinal = 0; ordinal < Simulator::Get().device_count(); ++ordinal) {
    Device* device = Simulator::Get().device(ordinal);
    Write(StreamRecord(*device->legacy_stream(), 0));
    for (const StreamInfo& stream : device->Streams()) Write(StreamRecord(stream, device->context_id(), 0));
  }
}

CUptiResult PushExternalId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind == CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  external_ids.push_back({kind, id});
  return CUPTI_SUCCESS;
}

CUptiResult PopExternalId(CUpti_ExternalCorrelationKind kind, uint64_t* id) {
  for (auto entry = external_ids.rbegin(); entry != external_ids.rend(); ++entry) {
    if (entry->kind != kind) continue;
    if (id != nullptr) *id = entry->id;
    external_ids.erase(std::next(entry).base());
    return CUPTI_SUCCESS;
  }
  return CUPTI_ERROR_QUEUE_EMPTY;
}

}  // namespace simgpu::cupti
