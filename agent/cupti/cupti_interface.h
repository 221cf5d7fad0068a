// CUPTI as the agent calls it, through whichever of its two interfaces is in use: the one for the whole process, which
// every version has, or the one for each subscriber (subscriber_interface.h).
//
// Threads: after set-up the keeper alone subscribes, enables, flushes and unsubscribes; whoever completes a buffer uses
// the parser, the drop count and the timestamp. No function here takes a lock.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "agent/cupti/cupti_library.h"
#include "agent/cupti/record_sizes.h"

namespace stallscope::agent {

struct BufferFunctions {
  CUpti_BuffersCallbackRequestFunc request;
  CUpti_BuffersCallbackCompleteFunc complete;
  RequestBufferForSubscriber request_for_subscriber;
  CompleteBufferOfSubscriber complete_of_subscriber;
};

class CuptiInterface {
 public:
  CuptiFunctions functions;

  // The library's version, known after SetUp.
  uint32_t version() const noexcept { return version_; }
  bool per_subscriber() const noexcept { return per_subscriber_; }
  CUpti_SubscriberHandle subscriber() const noexcept { return subscriber_; }

  // After `functions` was filled.
  void SetUp() noexcept;
  // Whether this library has the interface for each subscriber, complete and with shared subscription.
  bool CanBePerSubscriber() const noexcept;

  // `holder`: the name of the tool that holds CUPTI, written when the library refuses and can tell; at least
  // CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN bytes.
  CUptiResult Subscribe(bool per_subscriber, CUpti_CallbackFunc callback, char* holder, size_t holder_bytes) noexcept;
  CUptiResult Unsubscribe() noexcept;
  // Back to the process-wide interface, after a subscription to the other one was refused.
  void UsePerProcess() noexcept { per_subscriber_ = false; }
  CUptiResult RegisterBuffers(const BufferFunctions& buffers) noexcept;
  CUptiResult Enable(CUpti_ActivityKind kind) noexcept;
  CUptiResult EnableAndDump(CUpti_ActivityKind kind) noexcept;  // just enables where the library cannot dump
  CUptiResult Disable(CUpti_ActivityKind kind) noexcept;
  CUptiResult SetFlag(CUpti_ActivityAttribute attribute, uint8_t value) noexcept;
  CUptiResult GetFlag(CUpti_ActivityAttribute attribute, uint8_t* value) noexcept;
  CUptiResult Flush() noexcept { return functions.cuptiActivityFlushAll(0); }
  CUptiResult TakeDropped(CUcontext context, uint32_t stream_id, size_t* dropped) noexcept;
  CUptiResult Timestamp(uint64_t* timestamp) noexcept;
  RecordParser Parser() const noexcept;

 private:
  uint32_t version_ = 0;
  bool per_subscriber_ = false;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace stallscope::agent
