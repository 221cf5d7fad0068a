// One finished call of a thread, of the OS or of CUDA, in the form in which the timeline keeps it.
//
// Written by: ThreadTimeline. Read by: steps and budget. Units: host nanoseconds; a call covers (begin, end].
#pragma once

#include <cstdint>

#include "collector/base/event.h"
#include "proto/wire/calls.h"
#include "proto/wire/shm.h"

namespace stallscope {

enum class CallSource : uint8_t { kOs, kCuda };

struct Call {
  HostNs begin = 0, end = 0;
  uint64_t object = 0;       // OS: what it waited on; CUDA: stream handle
  uint64_t argument = 0;     // OS: timeout asked for, plus one; CUDA: bytes, event or executable graph by class
  uint32_t correlation = 0;  // CUDA; joins: the joined thread's tid; 0: not known
  int32_t result = 0;
  uint32_t outer_distance = 0;  // the call around this one is this many numbers later; 0: none known
  uint32_t inner_span = 0;      // the calls nested in this one are the `inner_span` numbers before it
  uint32_t sync_plus_one = 0;   // blocking CUDA calls: low bits of the SyncContext's number, plus one
  uint16_t call = 0;            // wire::OsCall or callback id
  CallSource source = CallSource::kOs;
  wire::CudaCallClass call_class = wire::CudaCallClass::kOther;
  wire::CopyKind copy_kind = wire::CopyKind::kUnknown;
  uint8_t flags = 0;  // wire::kCudaFlag*
  wire::CudaDomain domain = wire::CudaDomain::kRuntime;
  bool expects_record = false;  // a GPU record with this correlation id should come
  bool has_record = false;      // ... and has come (all of them, as far as is known)
};

// Call::flags of an OS call: its descriptor is a file of data or a disk (kDiskFile).
inline constexpr uint8_t kCallOnDiskFile = 1;

constexpr bool HasFlag(const Call& call, uint64_t flag) { return (call.flags & flag) != 0; }

constexpr bool IsOnDiskFile(const Call& call) {
  return call.source == CallSource::kOs && (call.flags & kCallOnDiskFile) != 0;
}

// Puts work on a stream: work that CUPTI reports under the call's correlation id.
constexpr bool IsLaunch(const Call& call) {
  using wire::CudaCallClass;
  if (call.source != CallSource::kCuda) return false;
  switch (call.call_class) {
    case CudaCallClass::kLaunch:
    case CudaCallClass::kGraphLaunch:
    case CudaCallClass::kCopyAsync:
    case CudaCallClass::kCopySync:
    case CudaCallClass::kMemset:
      return true;
    default:
      return false;
  }
}

// An async copy to pageable memory waits for its own end, and no agent can tell pageable from pinned memory by the
// call. What gives it away is a long call whose copy had ended before it returned.
inline constexpr int64_t kLongCopyCallNs = 50'000;
constexpr bool MayBeBlockingCopy(const Call& call) {
  return call.source == CallSource::kCuda && call.call_class == wire::CudaCallClass::kCopyAsync &&
         call.copy_kind == wire::CopyKind::kDeviceToHost && call.end - call.begin >= kLongCopyCallNs;
}

// A copy that returns only when it is done: by its class, by the flag, or as found out when its record came (the
// timeline then sets the flag).
constexpr bool IsBlockingCopy(const Call& call) {
  using wire::CudaCallClass;
  if (call.source != CallSource::kCuda) return false;
  return call.call_class == CudaCallClass::kCopySync ||
         (call.call_class == CudaCallClass::kCopyAsync && HasFlag(call, wire::kCudaFlagPageable) &&
          call.copy_kind == wire::CopyKind::kDeviceToHost);
}

// Returns only when work on a device has ended.
constexpr bool IsBlockingCuda(const Call& call) {
  using wire::CudaCallClass;
  if (call.source != CallSource::kCuda) return false;
  return call.call_class == CudaCallClass::kSyncDevice || call.call_class == CudaCallClass::kSyncStream ||
         call.call_class == CudaCallClass::kSyncEvent || IsBlockingCopy(call);
}

constexpr bool IsQuery(const Call& call) {
  using wire::CudaCallClass;
  return call.source == CallSource::kCuda &&
         (call.call_class == CudaCallClass::kQueryEvent || call.call_class == CudaCallClass::kQueryStream);
}

// The kind of wait of an OS call; kNone for CUDA calls and for calls of a newer agent.
constexpr wire::WaitKind WaitKindOf(const Call& call) {
  if (call.source != CallSource::kOs || call.call >= static_cast<uint16_t>(wire::OsCall::kCount)) {
    return wire::WaitKind::kNone;
  }
  return wire::kOsCalls[call.call].wait;
}

// Calls that send through their descriptor: what they wait for is room, and what they do wakes the other end.
constexpr bool IsTransmit(wire::OsCall call) {
  using wire::OsCall;
  switch (call) {
    case OsCall::kWrite:
    case OsCall::kWritev:
    case OsCall::kSend:
    case OsCall::kSendto:
    case OsCall::kSendmsg:
    case OsCall::kSendmmsg:
    case OsCall::kSendfile:
    case OsCall::kEventfdWrite:
      return true;
    default:
      return false;
  }
}

}  // namespace stallscope
