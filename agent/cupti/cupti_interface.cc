#include "agent/cupti/cupti_interface.h"

namespace stallscope::agent {
namespace {

constexpr char kOurName[] = "Stallscope";

}  // namespace

void CuptiInterface::SetUp() noexcept { functions.cuptiGetVersion(&version_); }

bool CuptiInterface::CanBePerSubscriber() const noexcept {
  return version_ >= kPerSubscriberVersion && functions.HasPerSubscriber();
}

CUptiResult CuptiInterface::Subscribe(bool per_subscriber, CUpti_CallbackFunc callback, char* holder,
                                      size_t holder_bytes) noexcept {
  if (holder_bytes != 0) holder[0] = '\0';
  per_subscriber_ = per_subscriber;
  subscriber_ = nullptr;
  SubscriberParams parameters = {};
  parameters.subscriber_name = kOurName;
  parameters.old_subscriber_name = holder;
  parameters.old_subscriber_bytes = holder_bytes;
  parameters.allow_multiple_subscribers = per_subscriber ? 1 : 0;
  auto* const as_declared = reinterpret_cast<CUpti_SubscriberParams*>(&parameters);
  if (per_subscriber) {
    parameters.struct_bytes = sizeof(parameters);
    return functions.cuptiSubscribe_v2(&subscriber_, callback, nullptr, as_declared);
  }
  const CUptiResult result = functions.cuptiSubscribe(&subscriber_, callback, nullptr);
  if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return result;
  // Only the second form tells who holds it.
  if (functions.cuptiSubscribe_v2 == nullptr || version_ >= kSubscriberSessionsVersion) return result;
  parameters.struct_bytes = sizeof(CUpti_SubscriberParams);
  CUpti_SubscriberHandle subscriber = nullptr;
  if (functions.cuptiSubscribe_v2(&subscriber, callback, nullptr, as_declared) == CUPTI_SUCCESS) {
    functions.cuptiUnsubscribe(subscriber);  // it became free just now; the next try takes it
  }
  return result;
}

CUptiResult CuptiInterface::Unsubscribe() noexcept {
  const CUptiResult result = functions.cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
  return result;
}

CUptiResult CuptiInterface::RegisterBuffers(const BufferFunctions& buffers) noexcept {
  return per_subscriber_ ? functions.cuptiActivityRegisterCallbacks_v2(subscriber_, buffers.request_for_subscriber,
                                                                       buffers.complete_of_subscriber)
                         : functions.cuptiActivityRegisterCallbacks(buffers.request, buffers.complete);
}

CUptiResult CuptiInterface::Enable(CUpti_ActivityKind kind) noexcept {
  return per_subscriber_ ? functions.cuptiActivityEnable_v2(subscriber_, kind, nullptr)
                         : functions.cuptiActivityEnable(kind);
}

CUptiResult CuptiInterface::EnableAndDump(CUpti_ActivityKind kind) noexcept {
  CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;
  if (per_subscriber_) {
    result = functions.cuptiActivityEnableAndDump_v2(subscriber_, kind, nullptr);
  } else if (functions.cuptiActivityEnableAndDump != nullptr) {
    result = functions.cuptiActivityEnableAndDump(kind);
  }
  return result == CUPTI_SUCCESS ? result : Enable(kind);
}

CUptiResult CuptiInterface::Disable(CUpti_ActivityKind kind) noexcept {
  return per_subscriber_ ? functions.cuptiActivityDisable_v2(subscriber_, kind, nullptr)
                         : functions.cuptiActivityDisable(kind);
}

CUptiResult CuptiInterface::SetFlag(CUpti_ActivityAttribute attribute, uint8_t value) noexcept {
  size_t bytes = sizeof(value);
  return per_subscriber_ ? functions.cuptiActivitySetAttribute_v2(subscriber_, attribute, &bytes, &value)
                         : functions.cuptiActivitySetAttribute(attribute, &bytes, &value);
}

CUptiResult CuptiInterface::GetFlag(CUpti_ActivityAttribute attribute, uint8_t* value) noexcept {
  if (per_subscriber_ || functions.cuptiActivityGetAttribute == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  size_t bytes = sizeof(*value);
  return functions.cuptiActivityGetAttribute(attribute, &bytes, value);
}

CUptiResult CuptiInterface::TakeDropped(CUcontext context, uint32_t stream_id, size_t* dropped) noexcept {
  return per_subscriber_ ? functions.cuptiActivityGetNumDroppedRecords_v2(subscriber_, context, stream_id, dropped)
                         : functions.cuptiActivityGetNumDroppedRecords(context, stream_id, dropped);
}

CUptiResult CuptiInterface::Timestamp(uint64_t* timestamp) noexcept {
  return per_subscriber_ ? functions.cuptiGetTimestamp_v2(subscriber_, timestamp)
                         : functions.cuptiGetTimestamp(timestamp);
}

RecordParser CuptiInterface::Parser() const noexcept {
  return per_subscriber_ ? RecordParser(functions.cuptiActivityGetNextRecord_v2, subscriber_)
                         : RecordParser(functions.cuptiActivityGetNextRecord);
}

}  // namespace stallscope::agent
