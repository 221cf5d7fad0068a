// Facts about the CUDA calls that the agent records, by table row and by callback id.
//
// Runtime calls come from runtime_calls.h (interposed, and seen in CUPTI's callbacks); driver calls from driver_calls.h
// (seen in callbacks only). Constant data, any thread.
#pragma once

#include <cstdint>

#include "agent/cuda/memory_calls.h"
#include "proto/wire/calls.h"

namespace stallscope::agent {

// A recorded call. `callback_id` is CUPTI's number of it in `domain`.
struct CudaCallInfo {
  const char* symbol;      // as exported
  const char* cupti_name;  // as CUPTI names it: with a version for runtime calls
  uint16_t callback_id;
  wire::CudaDomain domain;
  wire::CudaCallClass call_class;
};

// What a parameter block of CUPTI's callback says about a call.
struct CudaCallArguments {
  uint64_t object = 0;
  uint64_t argument = 0;
  wire::CopyKind copy = wire::CopyKind::kHostToHost;
};

// Rows: first the runtime calls in the order of runtime_calls.h, then the driver calls.
extern const CudaCallInfo kCudaCalls[];
extern const uint32_t kCudaCallCount;

// nullptr for a callback id that the agent does not record.
const CudaCallInfo* FindCudaCall(wire::CudaDomain domain, uint32_t callback_id) noexcept;

// Reads CUPTI's parameter block of the call (CUpti_CallbackData::functionParams), which must not be nullptr.
// `succeeded`: the call is over and has written its results.
CudaCallArguments ReadCallbackParameters(const CudaCallInfo& call, const void* parameters, bool succeeded) noexcept;

// What a call of IsMemoryCall did, from its parameter block.
MemoryArgument ReadCallbackMemory(const CudaCallInfo& call, const void* parameters, bool succeeded) noexcept;

constexpr bool IsMemoryCall(wire::CudaCallClass call_class) {
  return call_class == wire::CudaCallClass::kAlloc || call_class == wire::CudaCallClass::kFree ||
         call_class == wire::CudaCallClass::kHostAlloc || call_class == wire::CudaCallClass::kHostRegister;
}

// Calls that can hold their thread for long: what the thread is blocked in is published while they run.
constexpr bool Blocks(wire::CudaCallClass call_class) {
  switch (call_class) {
    case wire::CudaCallClass::kSyncDevice:
    case wire::CudaCallClass::kSyncStream:
    case wire::CudaCallClass::kSyncEvent:
    case wire::CudaCallClass::kCopySync:
    case wire::CudaCallClass::kCopyAsync:    // blocks on pageable memory
    case wire::CudaCallClass::kGraphLaunch:  // blocks on a full queue
    case wire::CudaCallClass::kAlloc:
    case wire::CudaCallClass::kFree:
    case wire::CudaCallClass::kHostAlloc:
    case wire::CudaCallClass::kHostRegister:
    case wire::CudaCallClass::kGraphBuild:
    case wire::CudaCallClass::kModuleLoad:
      return true;
    default:
      return false;
  }
}

// Calls that put work on a stream: a GPU record with the same correlation id follows, unless the stream is being
// captured.
constexpr bool Enqueues(wire::CudaCallClass call_class) {
  return call_class == wire::CudaCallClass::kLaunch || call_class == wire::CudaCallClass::kGraphLaunch ||
         call_class == wire::CudaCallClass::kCopyAsync || call_class == wire::CudaCallClass::kCopySync ||
         call_class == wire::CudaCallClass::kMemset;
}

// Calls that do nothing now when their stream is being captured.
constexpr bool Captured(wire::CudaCallClass call_class) {
  return Enqueues(call_class) || call_class == wire::CudaCallClass::kEventRecord ||
         call_class == wire::CudaCallClass::kStreamWaitEvent || call_class == wire::CudaCallClass::kHostFunc;
}

}  // namespace stallscope::agent
