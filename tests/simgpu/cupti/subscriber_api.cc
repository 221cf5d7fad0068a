// The per-subscriber functions that libcupti has from CUDA 13.3 on: several tools share CUPTI, each with kinds, buffers
// and external ids of its own. The records stay those of the 13.0 headers, as do the sizes that the parser walks by.
#include <cstddef>

#include "tests/simgpu/cupti/activity_functions.h"
#include "tests/simgpu/cupti/buffers.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/next_record.h"
#include "tests/simgpu/cupti/stamp.h"
#include "tests/simgpu/cupti/subscriber_sessions.h"

using simgpu::cupti::Client;
using simgpu::cupti::Clients;

namespace {

// As declared by the headers of CUDA 13.3 and later; ours are those of 13.0.
struct RequestDetails {
  size_t struct_bytes;
};
struct CompleteDetails {
  size_t struct_bytes;
  uint64_t thread_id;
  void** record_layouts;
  size_t record_layout_count;
};
using RequestFunction = void (*)(uint8_t**, size_t*, size_t*, RequestDetails*);
using CompleteFunction = void (*)(uint8_t*, size_t, size_t, CompleteDetails*);

class SubscriberLender : public simgpu::cupti::BufferLender {
 public:
  SubscriberLender(RequestFunction request, CompleteFunction complete) : request_(request), complete_(complete) {}
  void Request(uint8_t** bytes, size_t* capacity_bytes, size_t* max_records) override {
    RequestDetails details{sizeof(RequestDetails)};
    request_(bytes, capacity_bytes, max_records, &details);
  }
  void Complete(uint8_t* bytes, size_t capacity_bytes, size_t used_bytes) override {
    CompleteDetails details{sizeof(CompleteDetails), simgpu::cupti::ThreadId(), nullptr, 0};
    complete_(bytes, capacity_bytes, used_bytes, &details);
  }

 private:
  const RequestFunction request_;
  const CompleteFunction complete_;
};

// A subscriber that did not ask to share works on the process's client, as the functions without a subscriber do.
Client* Of(CUpti_SubscriberHandle subscriber) { return Clients::Get().Of(subscriber); }

}  // namespace

namespace simgpu::cupti {

uint32_t LibraryApiVersion() { return 130300; }

bool WantsToShare(const CUpti_SubscriberParams& params) {
  // The field follows those of 13.0; `structSize` says whether the caller has it.
  const size_t offset = offsetof(CUpti_SubscriberParams, oldSubscriberSize) + sizeof params.oldSubscriberSize;
  return params.structSize > offset && reinterpret_cast<const uint8_t*>(&params)[offset] != 0;
}

}  // namespace simgpu::cupti

#define SIMGPU_SUBSCRIBER(client)        \
  Client* const client = Of(subscriber); \
  if (client == nullptr) return CUPTI_ERROR_INVALID_PARAMETER

SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
                                                                     RequestFunction request,
                                                                     CompleteFunction complete) {
  SIMGPU_SUBSCRIBER(client);
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  client->buffers.Register(new SubscriberLender(request, complete));
  return CUPTI_SUCCESS;
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                                          void*) {
  SIMGPU_SUBSCRIBER(client);
  return EnableKind(client, kind);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber,
                                                                 CUpti_ActivityKind kind, void*) {
  SIMGPU_SUBSCRIBER(client);
  return EnableKindAndDump(client, kind);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                                           void*) {
  SIMGPU_SUBSCRIBER(client);
  return DisableKind(client, kind);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle subscriber,
                                                                    CUpti_CallbackId cbid, uint8_t enable) {
  SIMGPU_SUBSCRIBER(client);
  return SetApiRecord(client, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi_v2(CUpti_SubscriberHandle subscriber,
                                                                   CUpti_CallbackId cbid, uint8_t enable) {
  SIMGPU_SUBSCRIBER(client);
  return SetApiRecord(client, CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t* buffer,
                                                                 size_t valid_bytes, CUpti_Activity** record) {
  SIMGPU_SUBSCRIBER(client);
  return simgpu::cupti::NextRecord(simgpu::cupti::ActiveLayout(), buffer, valid_bytes, record);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber, CUcontext,
                                                                        uint32_t, size_t* dropped) {
  SIMGPU_SUBSCRIBER(client);
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = client->buffers.TakeDropped();
  return CUPTI_SUCCESS;
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                                                CUpti_ActivityAttribute attribute, size_t* bytes,
                                                                void* value) {
  SIMGPU_SUBSCRIBER(client);
  return SetAttribute(client, attribute, bytes, value);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                                                CUpti_ActivityAttribute attribute, size_t* bytes,
                                                                void* value) {
  SIMGPU_SUBSCRIBER(client);
  return GetAttribute(client, attribute, bytes, value);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                                             CUpti_ExternalCorrelationKind kind,
                                                                             uint64_t id) {
  SIMGPU_SUBSCRIBER(client);
  return simgpu::cupti::PushExternalId(*client, kind, id);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                                            CUpti_ExternalCorrelationKind kind,
                                                                            uint64_t* id) {
  SIMGPU_SUBSCRIBER(client);
  return simgpu::cupti::PopExternalId(*client, kind, id);
}
SIMGPU_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t* timestamp) {
  SIMGPU_SUBSCRIBER(client);
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = simgpu::cupti::StampNow();
  return CUPTI_SUCCESS;
}
