// CUPTI's per-subscriber interface (the functions ending in _v2), which CUDA 13.2 began and 13.3 completed.
//
// The headers that this agent is built with (13.0) do not have it, so what is used of it is declared here, from the
// headers of 13.5. A process in which one client uses it must not use the process-wide functions any more, and the other
// way round: the library answers CUPTI_ERROR_NOT_COMPATIBLE (seen in public reports on 13.3). Constant declarations.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace stallscope::agent {

// From this version on a subscription by cuptiSubscribe_v2 cannot be mixed with the process-wide functions.
inline constexpr uint32_t kSubscriberSessionsVersion = 130'200;

// From this version on the family is whole (parser and drop count included), and several subscribers may share a
// process where the driver can (r610).
inline constexpr uint32_t kPerSubscriberVersion = 130'300;

// CUpti_SubscriberParams since 13.2; older libraries know it up to `old_subscriber_bytes`.
struct SubscriberParams {
  size_t struct_bytes;
  const char* subscriber_name;
  char* old_subscriber_name;
  size_t old_subscriber_bytes;
  uint8_t allow_multiple_subscribers;
  uint8_t padding[7];
};
static_assert(sizeof(SubscriberParams) == 40 && offsetof(SubscriberParams, allow_multiple_subscribers) == 32);
static_assert(sizeof(CUpti_SubscriberParams) == 32);

// The last argument of the buffer functions, and of Enable and Disable, points to structures that nothing here reads.
using RequestBufferForSubscriber = void(CUPTIAPI*)(uint8_t** buffer, size_t* bytes, size_t* max_records, void* info);
using CompleteBufferOfSubscriber = void(CUPTIAPI*)(uint8_t* buffer, size_t bytes, size_t valid_bytes, void* info);

// F(name, parameters)
#define STALLSCOPE_CUPTI_PER_SUBSCRIBER(F)                                                           \
  F(cuptiActivityRegisterCallbacks_v2,                                                               \
    (CUpti_SubscriberHandle, RequestBufferForSubscriber, CompleteBufferOfSubscriber))                \
  F(cuptiActivityEnable_v2, (CUpti_SubscriberHandle, CUpti_ActivityKind, void*))                     \
  F(cuptiActivityDisable_v2, (CUpti_SubscriberHandle, CUpti_ActivityKind, void*))                    \
  F(cuptiActivityEnableAndDump_v2, (CUpti_SubscriberHandle, CUpti_ActivityKind, void*))              \
  F(cuptiActivitySetAttribute_v2, (CUpti_SubscriberHandle, CUpti_ActivityAttribute, size_t*, void*)) \
  F(cuptiActivityGetNextRecord_v2, (CUpti_SubscriberHandle, uint8_t*, size_t, CUpti_Activity**))     \
  F(cuptiActivityGetNumDroppedRecords_v2, (CUpti_SubscriberHandle, CUcontext, uint32_t, size_t*))    \
  F(cuptiGetTimestamp_v2, (CUpti_SubscriberHandle, uint64_t*))

}  // namespace stallscope::agent
