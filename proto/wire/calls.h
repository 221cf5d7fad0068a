// The calls the agent hooks on the OS side, as numbers that cross the process border.
//
// What it is: the one list of hooked OS calls. The agent's hooks, the names on every screen, the wait kinds of the budget and the
// documentation table all come from it. Written by: nobody at run time. Numbers are stored in captures: append only, never reorder.
//
// X(enumerator, "name shown (nsys spelling)", wait kind, object kind)
#pragma once

#include <cstdint>

namespace stallscope::wire {

// What a thread does while it sits in the call; decides the budget line when nobody is known to have woken it.
enum class WaitKind : uint8_t {
  kNone = 0,       // does not wait (create, wake-ups)
  kLock = 1,       // mutex, rwlock, spin lock            -> host.lock
  kCondition = 2,  // condition variable                  -> host.wait_thread
  kSemaphore = 3,  //                                     -> host.wait_thread
  kBarrier = 4,    //                                     -> host.wait_thread
  kJoin = 5,       //                                     -> host.wait_thread
  kFutex = 6,      // raw futex through syscall()         -> host.wait_thread
  kPoll = 7,       // epoll/poll/select: outside input    -> host.ipc or idle.no_request
  kIpc = 8,        // read/recv/send on a socket or pipe  -> host.ipc
  kFile = 9,       // read/write on a file                -> host.io
  kSleep = 10,     // on purpose                          -> host.sleep
  kSpin = 11,      // sched_yield storms, query loops     -> host.spin
};

// What Record::object holds for the call. Objects are compared within one process only.
enum class ObjectKind : uint8_t {
  kNone = 0,
  kAddress = 1,  // address of the mutex, condition variable, semaphore, futex word
  kFd = 2,       // file descriptor number
  kThread = 3,   // pthread_t of the joined thread
};

#define STALLSCOPE_OS_CALLS(X)                                             \
  X(kPthreadMutexLock, "pthread_mutex_lock", kLock, kAddress)              \
  X(kPthreadMutexTimedlock, "pthread_mutex_timedlock", kLock, kAddress)    \
  X(kPthreadMutexClocklock, "pthread_mutex_clocklock", kLock, kAddress)    \
  X(kPthreadMutexUnlock, "pthread_mutex_unlock", kNone, kAddress)          \
  X(kPthreadRwlockRdlock, "pthread_rwlock_rdlock", kLock, kAddress)        \
  X(kPthreadRwlockWrlock, "pthread_rwlock_wrlock", kLock, kAddress)        \
  X(kPthreadRwlockUnlock, "pthread_rwlock_unlock", kNone, kAddress)        \
  X(kPthreadSpinLock, "pthread_spin_lock", kLock, kAddress)                \
  X(kPthreadCondWait, "pthread_cond_wait", kCondition, kAddress)           \
  X(kPthreadCondTimedwait, "pthread_cond_timedwait", kCondition, kAddress) \
  X(kPthreadCondClockwait, "pthread_cond_clockwait", kCondition, kAddress) \
  X(kPthreadCondSignal, "pthread_cond_signal", kNone, kAddress)            \
  X(kPthreadCondBroadcast, "pthread_cond_broadcast", kNone, kAddress)      \
  X(kSemWait, "sem_wait", kSemaphore, kAddress)                            \
  X(kSemTimedwait, "sem_timedwait", kSemaphore, kAddress)                  \
  X(kSemClockwait, "sem_clockwait", kSemaphore, kAddress)                  \
  X(kSemPost, "sem_post", kNone, kAddress)                                 \
  X(kPthreadBarrierWait, "pthread_barrier_wait", kBarrier, kAddress)       \
  X(kPthreadJoin, "pthread_join", kJoin, kThread)                          \
  X(kFutexWait, "futex", kFutex, kAddress)                                 \
  X(kFutexWake, "futex_wake", kNone, kAddress)                             \
  X(kEpollWait, "epoll_wait", kPoll, kFd)                                  \
  X(kEpollPwait, "epoll_pwait", kPoll, kFd)                                \
  X(kEpollPwait2, "epoll_pwait2", kPoll, kFd)                              \
  X(kPoll, "poll", kPoll, kFd)                                             \
  X(kPpoll, "ppoll", kPoll, kFd)                                           \
  X(kSelect, "select", kPoll, kNone)                                       \
  X(kPselect, "pselect", kPoll, kNone)                                     \
  X(kRead, "read", kIpc, kFd)                                              \
  X(kWrite, "write", kIpc, kFd)                                            \
  X(kReadv, "readv", kIpc, kFd)                                            \
  X(kWritev, "writev", kIpc, kFd)                                          \
  X(kRecv, "recv", kIpc, kFd)                                              \
  X(kRecvfrom, "recvfrom", kIpc, kFd)                                      \
  X(kRecvmsg, "recvmsg", kIpc, kFd)                                        \
  X(kSend, "send", kIpc, kFd)                                              \
  X(kSendto, "sendto", kIpc, kFd)                                          \
  X(kSendmsg, "sendmsg", kIpc, kFd)                                        \
  X(kEventfdRead, "eventfd_read", kIpc, kFd)                               \
  X(kEventfdWrite, "eventfd_write", kIpc, kFd)                             \
  X(kNanosleep, "nanosleep", kSleep, kNone)                                \
  X(kClockNanosleep, "clock_nanosleep", kSleep, kNone)                     \
  X(kUsleep, "usleep", kSleep, kNone)                                      \
  X(kSchedYield, "sched_yield", kSpin, kNone)                              \
  X(kPthreadCreate, "pthread_create", kNone, kThread)                      \
  X(kAccept, "accept", kIpc, kFd)                                          \
  X(kConnect, "connect", kIpc, kFd)

enum class OsCall : uint16_t {
#define STALLSCOPE_X(id, name, wait, object) id,
  STALLSCOPE_OS_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
      kCount
};

struct OsCallInfo {
  const char* name;
  WaitKind wait;
  ObjectKind object;
};

// Indexed by OsCall. A number past the end came from a newer agent: show it as "os_call_<n>".
inline constexpr OsCallInfo kOsCalls[] = {
#define STALLSCOPE_X(id, name, wait, object) {name, WaitKind::wait, ObjectKind::object},
    STALLSCOPE_OS_CALLS(STALLSCOPE_X)
#undef STALLSCOPE_X
};

// Where a CUDA call's number comes from: CUPTI's callback ids of that domain. Their names are interned at run time because
// they differ between CUPTI versions; the number alone has no meaning to a reader.
enum class CudaDomain : uint8_t { kRuntime = 0, kDriver = 1 };

// What a CUDA call does, decided by the agent (which knows the callback id and the header it was built against).
enum class CudaCallClass : uint8_t {
  kOther = 0,
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
  kFree = 14,
  kHostAlloc = 15,     // pinned allocation; argument: bytes
  kHostRegister = 16,  // argument: bytes
  kGraphBuild = 17,    // capture, instantiate, update, upload; argument: executable graph handle when known
  kModuleLoad = 18,
  kHostFunc = 19,
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
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kDefault = 4,
  kPeerToPeer = 10,
  kUnknown = 255
};

// What ran on the device.
enum class GpuOpKind : uint8_t { kKernel = 1, kCopy = 2, kMemset = 3, kGraph = 4, kSync = 5 };

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
