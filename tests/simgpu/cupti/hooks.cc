#include "tests/simgpu/cupti/hooks.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/core/trace.h"
#include "tests/simgpu/cupti/client.h"
#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/memory_records.h"
#include "tests/simgpu/cupti/records.h"
#include "tests/simgpu/cupti/resources.h"
#include "tests/simgpu/cupti/stamp.h"
#include "tests/simgpu/cupti/takeover.h"
#include "tests/simgpu/cupti/unified_memory.h"

namespace simgpu::cupti {
namespace {

std::atomic<uint32_t> next_correlation_id{1};

struct ExternalId {
  const Client* client;
  CUpti_ExternalCorrelationKind kind;
  uint64_t id;
};
thread_local std::vector<ExternalId> external_ids;

struct BufferRequest {
  uint64_t begin_stamp_ns, end_stamp_ns;
};
// Of the calling thread, since its last call ended; more than these are not said.
constexpr uint32_t kMaxRequests = 16;
thread_local BufferRequest buffer_requests[kMaxRequests];
thread_local uint32_t buffer_request_count = 0;

// Whether anything happens in calls of this domain. MEMORY2 and pool records, JIT records and resource callbacks are
// read off calls of both.
constexpr uint64_t kKindsOfCalls = uint64_t{1} << CUPTI_ACTIVITY_KIND_MEMORY2 |
                                   uint64_t{1} << CUPTI_ACTIVITY_KIND_MEMORY_POOL |
                                   uint64_t{1} << CUPTI_ACTIVITY_KIND_JIT;
bool CallsMatter(uint32_t domain) {
  const Clients& clients = Clients::Get();
  return clients.DomainOn(domain) || clients.DomainOn(CUPTI_CB_DOMAIN_RESOURCE) || clients.AnyKindOf(kKindsOfCalls);
}
bool ResourcesMatter() {
  return Clients::Get().DomainOn(CUPTI_CB_DOMAIN_RESOURCE) || Clients::Get().AnyKindOn(CUPTI_ACTIVITY_KIND_JIT);
}

uint32_t DomainOf(const ApiCall& call) {
  return call.domain == ApiDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
}

void CallSubscriber(Client* client, ApiCall* call, CUpti_ApiCallbackSite site) {
  const uint32_t domain = DomainOf(*call);
  if (!client->switches.CallbackOn(domain, call->cbid)) return;
  Device* device = CurrentDevice();
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call->name;
  data.functionParams = call->params;
  data.functionReturnValue = site == CUPTI_API_EXIT ? const_cast<void*>(call->result_address) : nullptr;
  data.symbolName = call->symbol_name;
  data.context = reinterpret_cast<CUcontext>(device);
  data.contextUid = device->context_id();
  data.correlationData = &call->correlation_data;
  data.correlationId = call->correlation_id;
  client->Call(domain, call->cbid, &data);
}

// What NVIDIA warns of: a cooperative launch under MPS while concurrent kernels are traced. A test is better off with an
// end than with a hang.
void HangUnderMps(const ApiCall& call) {
  if (__builtin_expect(Simulator::Get().config().mps == 0, 1)) return;
  if (std::strstr(call.name, "CooperativeKernel") == nullptr) return;
  if (!Clients::Get().AnyKindOn(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  std::fprintf(stderr, "simgpu: a cooperative launch under MPS while concurrent kernels are traced hangs\n");
  std::abort();
}

void ApiEnter(ApiCall* call) {
  if (call->correlation_id == 0) {
    call->correlation_id = next_correlation_id.fetch_add(1, std::memory_order_relaxed);
  }
  if (!CallsMatter(DomainOf(*call))) return;
  HangUnderMps(*call);
  bool record = false;
  Clients::Get().Each([call, &record](Client& client) {
    CallSubscriber(&client, call, CUPTI_API_ENTER);
    record = record || client.switches.ApiRecordOn(DomainOf(*call), call->cbid);
  });
  if (ResourcesMatter()) BeforeResourceCall(*call);
  if (record) call->begin_ns = StampNow();
}

void WriteExternalIds(Client* client, uint32_t correlation_id) {
  if (external_ids.empty() || !client->KindOn(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  // The innermost id of each kind counts.
  uint64_t seen = 0;
  for (auto id = external_ids.rbegin(); id != external_ids.rend(); ++id) {
    const uint64_t bit = uint64_t{1} << (static_cast<uint32_t>(id->kind) & 63);
    if (id->client != client || (seen & bit) != 0) continue;
    seen |= bit;
    client->Write(ExternalCorrelationRecord(id->kind, id->id, correlation_id));
  }
}

// What the call's records and buffer requests cost the program, once its outermost call is over.
void SettleCall() {
  // Saying so may ask for a buffer again: that is for the next call to say.
  const uint32_t requests = buffer_request_count;
  for (uint32_t i = 0; i < requests; ++i) {
    const BufferRequest& request = buffer_requests[i];
    WriteOverhead(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, request.begin_stamp_ns, request.end_stamp_ns);
  }
  if (requests != 0) buffer_request_count = 0;
  static const uint64_t record_ns = Simulator::Get().config().cupti_record_ns;
  if (record_ns == 0) return;
  if (const uint64_t written = TakeRecordsWritten()) Simulator::Get().SpendHostTime(written * record_ns);
}

void AfterOutermostCall() {
  SettleCall();
  if (FaultOn(Fault::kTakeover)) TakeoverAfterCall();
}

void ApiExit(ApiCall* call) {
  const bool nested = CurrentCall() != nullptr;  // a driver call inside a runtime call
  if (!CallsMatter(DomainOf(*call))) {
    if (!nested) AfterOutermostCall();
    return;
  }
  const uint64_t end_stamp_ns = call->begin_ns == 0 ? 0 : StampNow();
  Clients::Get().Each([call, end_stamp_ns, nested](Client& client) {
    if (end_stamp_ns != 0 && client.switches.ApiRecordOn(DomainOf(*call), call->cbid) && client.buffers.registered()) {
      if (call->domain == ApiDomain::kRuntime || !nested) WriteExternalIds(&client, call->correlation_id);
      client.Write(ApiRecord(*call, end_stamp_ns, ThreadId()));
    }
  });
  if (ResourcesMatter()) AfterResourceCall(*call);
  if (Clients::Get().AnyKindOn(CUPTI_ACTIVITY_KIND_MEMORY2) ||
      Clients::Get().AnyKindOn(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) {
    WriteMemoryRecords(*call);
  }
  Clients::Get().Each([call](Client& client) { CallSubscriber(&client, call, CUPTI_API_EXIT); });
  if (!nested) AfterOutermostCall();
}

template <typename Record>
void ApplyGraphFaults(Record* record) {
  if (FaultOn(Fault::kZeroGraphIds)) record->graphId = 0;
  if (FaultOn(Fault::kRecycledGraphIds) && record->graphId != 0) {
    record->graphId = static_cast<uint32_t>(1 + record->graphId % ActiveFaults().Parameter(Fault::kRecycledGraphIds));
  }
}

template <typename Record>
void AddFor(Client* client, Record record, const Span& span) {
  ApplyGraphFaults(&record);
  client->unfinished.Add(record, span);
}

void AddOperationFor(Client* client, const Operation& operation) {
  if (const auto* kernel = std::get_if<KernelWork>(operation.work)) {
    WritePageFaults(client, operation);
    for (CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL}) {
      if (!client->KindOn(kind)) continue;
      AddFor(client, KernelRecord(operation, *kernel, kind, client->switches.latency_timestamps.load()),
             operation.span);
      break;
    }
  } else if (const auto* copy = std::get_if<CopyWork>(operation.work)) {
    if (BetweenDevices(*copy)) {
      if (client->KindOn(CUPTI_ACTIVITY_KIND_MEMCPY2)) AddFor(client, PeerCopyRecord(operation, *copy), operation.span);
    } else if (client->KindOn(CUPTI_ACTIVITY_KIND_MEMCPY)) {
      AddFor(client, CopyRecord(operation, *copy), operation.span);
    }
  } else if (const auto* fill = std::get_if<FillWork>(operation.work)) {
    if (client->KindOn(CUPTI_ACTIVITY_KIND_MEMSET)) AddFor(client, FillRecord(operation, *fill), operation.span);
  }
}

void AddOperation(const Operation& operation) {
  Clients::Get().Each([&operation](Client& client) { AddOperationFor(&client, operation); });
}

void AddGraph(const GraphOperation& operation) {
  Clients::Get().Each([&operation](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {  // takes the place of the nodes' records
      AddFor(&client, GraphRecord(operation), operation.span);
      return;
    }
    for (size_t i = 0; i < operation.exec->nodes.size(); ++i) {
      const GraphNode& node = operation.exec->nodes[i];
      if (!node.enabled) continue;
      AddOperationFor(&client, {&node.work, operation.stream, operation.correlation_id, operation.queued_ns,
                                (*operation.node_spans)[i], operation.exec->id, node.id});
    }
  });
}

void AddWait(const Wait& wait) {
  SynchronizedCallbacks(wait);
  Clients::Get().Each([&wait](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) client.Write(WaitRecord(wait));
  });
}

void AddBackPressure(uint64_t begin_ns, uint64_t end_ns) {
  WriteOverhead(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, StampOf(begin_ns), StampOf(end_ns));
}

void StreamCreated(Stream* stream) {
  Clients::Get().Each([stream](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_STREAM)) client.Write(StreamRecord(*stream, CurrentCorrelationId()));
  });
}

void KernelLoaded(uint64_t begin_ns, uint64_t end_ns) {
  WriteOverhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, StampOf(begin_ns), StampOf(end_ns));
}

void GreenContextCreated(const GreenContext& context) {
  Clients::Get().Each([&context](Client& client) {
    if (client.KindOn(CUPTI_ACTIVITY_KIND_CONTEXT)) client.Write(ContextRecord(context));
  });
}

constexpr TraceHooks kHooks = [] {
  TraceHooks hooks{};
  hooks.api_enter = ApiEnter;
  hooks.api_exit = ApiExit;
  hooks.operation = AddOperation;
  hooks.graph = AddGraph;
  hooks.wait = AddWait;
  hooks.back_pressure = AddBackPressure;
  hooks.stream_created = StreamCreated;
  hooks.kernel_loaded = KernelLoaded;
  hooks.green_context_created = GreenContextCreated;
  return hooks;
}();

}  // namespace

void ConnectHooks(bool wanted) { SetTraceHooks(wanted ? &kHooks : nullptr); }

uint32_t ThreadId() {
  if (Clients::Get().system_thread_ids.load(std::memory_order_relaxed)) {
    thread_local const auto id = static_cast<uint32_t>(syscall(SYS_gettid));
    return id;
  }
  return static_cast<uint32_t>(pthread_self());
}

void WriteOverhead(CUpti_ActivityOverheadKind kind, uint64_t begin_stamp_ns, uint64_t end_stamp_ns) {
  Clients::Get().Each([&](Client& client) {
    if (!client.KindOn(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
    client.Write(OverheadRecord(kind, begin_stamp_ns, end_stamp_ns, ThreadId(), CurrentCorrelationId()));
  });
}

void NoteBufferRequest(uint64_t begin_stamp_ns) {
  if (!Clients::Get().AnyKindOn(CUPTI_ACTIVITY_KIND_OVERHEAD) || buffer_request_count == kMaxRequests) return;
  buffer_requests[buffer_request_count++] = {begin_stamp_ns, StampNow()};
}

void PayForCallback() {
  static const uint64_t callback_ns = Simulator::Get().config().cupti_callback_ns;
  if (callback_ns != 0) Simulator::Get().SpendHostTime(callback_ns);
}

void DumpDevices(Client* client) {
  for (int ordinal = 0; ordinal < Simulator::Get().device_count(); ++ordinal) {
    client->Write(DeviceRecord(*Simulator::Get().device(ordinal)));
  }
}

void DumpContexts(Client* client) {
  for (int ordinal = 0; ordinal < Simulator::Get().device_count(); ++ordinal) {
    client->Write(ContextRecord(*Simulator::Get().device(ordinal)));
  }
}

void DumpStreams(Client* client) {
  for (int ordinal = 0; ordinal < Simulator::Get().device_count(); ++ordinal) {
    Device* device = Simulator::Get().device(ordinal);
    client->Write(StreamRecord(*device->legacy_stream(), 0));
    for (const StreamInfo& stream : device->Streams()) client->Write(StreamRecord(stream, device->context_id(), 0));
  }
}

CUptiResult PushExternalId(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind == CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  external_ids.push_back({&client, kind, id});
  return CUPTI_SUCCESS;
}

CUptiResult PopExternalId(const Client& client, CUpti_ExternalCorrelationKind kind, uint64_t* id) {
  for (auto entry = external_ids.rbegin(); entry != external_ids.rend(); ++entry) {
    if (entry->client != &client || entry->kind != kind) continue;
    if (id != nullptr) *id = entry->id;
    external_ids.erase(std::next(entry).base());
    return CUPTI_SUCCESS;
  }
  return CUPTI_ERROR_QUEUE_EMPTY;
}

}  // namespace simgpu::cupti
