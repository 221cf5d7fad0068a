// The calls the agent hooks on the OS side, as numbers that cross the process border.
//
// What it is: the numbers of the hooked OS calls (the table itself is proto/wire/os_calls.h), and those of CUDA calls, GPU
// operations and marks. Written by: nobody at run time. Numbers are stored in captures: append only, never reorder.
#pragma once

#include <cstdint>

#include "proto/wire/os_calls.h"

namespace stallscope::wire {

// What a thread does while it sits in the call; decides the budget line when nobody is known to have woken it.
enum class WaitKind : uint8_t {
  kNone = 0,       // does not wait (create, wake-ups)
  kLock = 1,       // mutex, rwlock, spin lock            -> host.lock
  kCondition = 2,  // condition variable                  -> host.wait_thread
  kSemaphore = 3,  // sem_wait and its like               -> host.wait_thread
  kBarrier = 4,    // until the last one arrives          -> host.wait_thread
  kJoin = 5,       // end of a thread or child            -> host.wait_thread
  kFutex = 6,      // raw futex through syscall()         -> host.wait_thread
  kPoll = 7,       // epoll/poll/select: outside input    -> host.ipc or idle.no_request
  kIpc = 8,        // read/recv/send on a socket or pipe  -> host.ipc
  kFile = 9,       // read/write on a file                -> host.io
  kSleep = 10,     // on purpose                          -> host.sleep
  kSpin = 11,      // sched_yield storms, query loops     -> host.spin
  kGil = 12,       // the Python interpreter lock         -> host.gil
  kSystem = 13,    // kernel calls that change something and wait for nobody -> host.cpu
};

// What Record::object holds for the call. Objects are compared within one process only.
enum class ObjectKind : uint8_t {
  kNone = 0,     // nothing that has a name: a sleep, a select
  kAddress = 1,  // address of the mutex, condition variable, semaphore, futex word
  kFd = 2,       // file descriptor number
  kThread = 3,   // pthread_t of the joined thread
};

// What a hook does around the call.
enum class BlockingRule : uint8_t {
  kTimed = 0,  // timed always; recorded from the threshold on
  kContended =
      1,  // tried first; timed and recorded whenever it was held, however short: Nsight Systems' five lock calls
  kTryFirst = 2,  // tried first; timed when it must wait; recorded from the threshold on
  kBuffered = 3,  // passed through while the stream's buffer serves it; else as kTimed
  kStorm = 4,     // calls in a row become one record with a count
  kWake = 5,      // recorded as a wake-up, only while somebody waits on the object
};

// The rows of proto/wire/os_calls.h in their order.
enum class OsCall : uint16_t {
#define STALLSCOPE_X(id, name, wait, object, rule, symbols) id,
  STALLSCOPE_OS_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
      kCount,  // not a call: how many this version knows
};

// A row of the table.
struct OsCallInfo {
  const char* name;     // as Nsight Systems spells it, and every screen of ours
  WaitKind wait;        // the budget line when nobody is known to have ended it
  ObjectKind object;    // what Record::object is
  BlockingRule rule;    // what the hook does
  const char* symbols;  // that the agent exports for it, separated by blanks
};

// Indexed by OsCall. A number past the end came from a newer agent: show it as "os_call_<n>".
inline constexpr OsCallInfo kOsCalls[] = {
#define STALLSCOPE_X(id, name, wait, object, rule, symbols) \
  {name, WaitKind::wait, ObjectKind::object, BlockingRule::rule, symbols},
    STALLSCOPE_OS_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
};

// Where a CUDA call's number comes from: CUPTI's callback ids of that domain. Their names are interned at run time because
// they differ between CUPTI versions; the number alone has no meaning to a reader.
enum class CudaDomain : uint8_t {
  kRuntime = 0,  // cuda...: CUPTI_RUNTIME_TRACE_CBID_
  kDriver = 1,   // cu...: CUPTI_DRIVER_TRACE_CBID_
};

// What a CUDA call does, decided by the agent (which knows the callback id and the header it was built against).
enum class CudaCallClass : uint8_t {
  kOther = 0,             // no kind of its own; a newer agent's to an older reader
  kLaunch = 1,            // object: stream, argument: 0
  kGraphLaunch = 2,       // object: stream, argument: executable graph handle
  kCopyAsync = 3,         // object: stream, argument: bytes
  kCopySync = 4,          // blocking copy; argument: bytes
  kMemset = 5,            // object: stream, argument: bytes
  kSyncDevice = 6,        // cudaDeviceSynchronize, cuCtxSynchronize
  kSyncStream = 7,        // object: stream
  kSyncEvent = 8,         // argument: event handle
  kEventRecord = 9,       // object: stream, argument: event handle
  kStreamWaitEvent = 10,  // object: stream, argument: event handle
  kQueryEvent = 11,       // argument: event handle; result 0 = done
  kQueryStream = 12,      // object: stream; result 0 = done
  kAlloc = 13,            // argument: bytes
  kFree = 14,             // argument: 0; of a pool that is trimmed: the bytes to keep
  kHostAlloc = 15,        // pinned allocation; argument: bytes
  kHostRegister = 16,     // pinning of memory that is there already; argument: bytes, 0 when it ends
  kGraphBuild = 17,       // capture, instantiate, update, upload, destroy; argument: executable graph handle when known
  kModuleLoad = 18,       // code; object and argument: 0
  kHostFunc = 19,         // object: stream on which the program's function is to run
};

// Whether Record::argument of a call of this class is a handle (an event, an executable graph) rather than a number of bytes.
// In the stream such an argument is the id of an Intern.objects entry.
constexpr bool ArgumentIsObject(CudaCallClass call_class) {
  switch (call_class) {
    case CudaCallClass::kGraphLaunch:
    case CudaCallClass::kSyncEvent:
    case CudaCallClass::kEventRecord:
    case CudaCallClass::kStreamWaitEvent:
    case CudaCallClass::kQueryEvent:
    case CudaCallClass::kGraphBuild:
      return true;
    default:
      return false;
  }
}

// Values of cudaMemcpyKind, as CUDA numbers them.
enum class CopyKind : uint8_t {
  kHostToHost = 0,      // also what anything but a copy has
  kHostToDevice = 1,    // pinned or pageable: memory kinds tell
  kDeviceToHost = 2,    // how tokens come out
  kDeviceToDevice = 3,  // within one device
  kDefault = 4,         // the caller left it to CUDA to find out
  kPeerToPeer = 10,     // from one device to another; CUPTI's number, CUDA has none
  kUnknown = 255,       // a newer library's
};

// What ran on the device.
enum class GpuOpKind : uint8_t {
  kKernel = 1,  // of a graph too, where its nodes are traced
  kCopy = 2,    // whatever moves bytes
  kMemset = 3,  // a fill
  kGraph = 4,   // a whole launch of one, where its nodes are not traced
  kSync = 5,    // a host thread's wait, as CUPTI saw it; beside the call, never instead of it
};

// What happened to memory.
enum class MemoryOperation : uint8_t {
  kAllocate = 1,                // bytes; extra: the pool it came from, or 0
  kRelease = 2,                 // bytes: 0 where the source does not say how many
  kRegister = 3,                // memory of the program's own was pinned
  kUnregister = 4,              // and it is not any more; bytes: 0
  kPoolCreate = 5,              // address: the pool's, as for all that follow with kPool
  kPoolDestroy = 6,             // its address may be a new pool's from then on
  kPoolTrim = 7,                // bytes: the least to keep
  kPoolState = 8,               // bytes: reserved; extra: of these in use
  kMigrateToDevice = 9,         // unified memory: bytes
  kMigrateToHost = 10,          // unified memory: bytes
  kMigrateBetweenDevices = 11,  // unified memory: bytes
  kCpuFaults = 12,              // how many; extra: 0
  kGpuFaults = 13,              // how many; it took the duration to serve them
  kThrashing = 14,              // a page goes to and fro; bytes
  kThrottling = 15,             // a processor was held back because of it, for the duration
  kRemoteMap = 16,              // bytes
};

// What the driver did when it loaded code, inside a call of the program.
enum class CodeLoadKind : uint8_t {
  kModule = 1,         // a module or library
  kLazyFunction = 2,   // a function at its first use
  kJitCompile = 3,     // bytes: of the result, where known
  kJitCacheLoad = 4,   // a compilation found in the cache
  kJitCacheStore = 5,  // a result was put into the cache
  kCompiler = 6,       // the driver's compiler, not said for what
};

// Marks of progress.
enum class RangeKind : uint8_t {
  kPush = 0,          // NVTX push/pop, one record at the pop
  kStartEnd = 1,      // NVTX start/end
  kMark = 2,          // NVTX mark
  kStepMarker = 3,    // stallscope_step(tokens): numbers[0] = tokens delivered
  kEngineDecode = 4,  // an engine's decode entry point was called (llama_decode): numbers[0] = batch tokens
  kEngineToken = 5,   // an engine handed out the scores of one token (llama_get_logits_ith)
};

}  // namespace stallscope::wire
