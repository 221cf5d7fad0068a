#include "agent/cuda/call_record.h"

#include <errno.h>

#include "agent/cuda/capture_state.h"
#include "agent/cuda/first_call.h"
#include "agent/cuda/thread_pool.h"
#include "agent/entry/lifecycle.h"

namespace stallscope::agent {
namespace {

using wire::CudaCallClass;
using wire::CudaDomain;

// cudaErrorNotReady and CUDA_ERROR_NOT_READY: a query that found the work unfinished.
constexpr int32_t kNotReady = 600;

// Consecutive unsuccessful queries of one object by one thread become one record (host.spin): a polling loop makes a
// million of them a second and would push everything else out of the ring.
struct QuerySpin {
  const CudaCallInfo* call = nullptr;  // nullptr: none pending
  uint64_t object = 0, argument = 0;
  uint64_t begin_ticks = 0, end_ticks = 0;
  uint32_t count = 0;
};
// In multiples of the wait threshold (1 us by default): a pause this long ends the loop; an interval this long is
// committed so that an endless loop shows while it runs.
constexpr uint64_t kSpinPause = 50;
constexpr uint64_t kSpinLongest = 1000;

struct alignas(64) CudaThread {
  ActiveCall* current = nullptr;                // what this thread is in; nullptr: no CUDA call
  const CudaCallInfo* callback_call = nullptr;  // the call that `from_callback` describes
  ActiveCall from_callback;                     // a call opened by CUPTI's callback
  uint64_t driver_stream = 0;  // stream of the launch below __cudaLaunchKernel, whose own parameters are not documented
  QuerySpin spin;
  const CudaCallInfo* nested_load = nullptr;  // a driver call below another call of ours that loads a module
  uint64_t nested_load_begin_ns = 0;
  std::atomic<uint32_t> tid{0};

  void Reset() noexcept {
    current = nullptr;
    nested_load = nullptr;
    spin = {};
  }
};

// Threads that ever made a CUDA call.
constinit ThreadPool<CudaThread, 4096> g_cuda_threads;
constinit thread_local CudaThread* t_cuda_thread = nullptr;

ActiveCall g_own;  // marks a thread whose CUDA calls are the agent's own

inline CudaThread* Thread() noexcept {
  CudaThread* thread = t_cuda_thread;
  if (__builtin_expect(thread == nullptr, 0)) {
    t_cuda_thread = thread = g_cuda_threads.Take();
    // A thread that launches kernels one by one makes some 100,000 records a second: on a loaded machine an ordinary ring
    // is full before the streaming thread gets to run.
    UseBigRing();
  }
  return thread;
}

void CommitCall(const CudaCallInfo& call, uint16_t callback_id, uint64_t begin, uint64_t end, uint64_t object,
                uint64_t argument, wire::CopyKind copy, uint64_t flags, uint32_t correlation_id,
                int32_t result) noexcept {
  RecordFields fields;
  fields.begin = begin;
  fields.duration = end > begin ? end - begin : 0;
  fields.object = object;
  fields.argument = argument;
  fields.detail = wire::PackCudaDetail(call.call_class, call.domain, copy, flags);
  fields.id = correlation_id;
  fields.kind = wire::RecordKind::kCudaCall;
  fields.call = callback_id != 0 ? callback_id : call.callback_id;
  fields.result = result;
  if (Blocks(call.call_class)) fields.stack = StackHere(begin, fields.duration);
  Commit(fields);
}

void FlushSpin(QuerySpin* spin) noexcept {
  CommitCall(*spin->call, 0, spin->begin_ticks, spin->end_ticks, spin->object, spin->argument,
             wire::CopyKind::kHostToHost, wire::kCudaFlagNoCupti | wire::kCudaFlagSpin, spin->count, kNotReady);
  spin->call = nullptr;
}

bool IsQuery(CudaCallClass call_class) {
  return call_class == CudaCallClass::kQueryEvent || call_class == CudaCallClass::kQueryStream;
}

// True when the query was taken into the pending spin interval.
bool JoinSpin(QuerySpin* spin, const CudaCallInfo& call, uint64_t begin, uint64_t end,
              const CudaCallArguments& arguments) noexcept {
  const uint64_t threshold = WaitThresholdTicks();
  if (threshold == 0) return false;
  if (spin->call != nullptr) {
    const bool same = spin->call == &call && spin->object == arguments.object && spin->argument == arguments.argument;
    if (same && begin - spin->end_ticks <= threshold * kSpinPause &&
        end - spin->begin_ticks <= threshold * kSpinLongest) {
      spin->end_ticks = end;
      ++spin->count;
      return true;
    }
    FlushSpin(spin);
  }
  *spin = {&call, arguments.object, arguments.argument, begin, end, 1};
  return true;
}

// A module that the runtime loads inside another call (a launch, an allocation, whatever came first).
void BeginNestedLoad(CudaThread* thread, const CudaCallInfo& call) noexcept {
  if (__builtin_expect(call.call_class != CudaCallClass::kModuleLoad, 1) || call.domain != CudaDomain::kDriver) return;
  if (thread->current->loads || thread->nested_load != nullptr || !Recording()) return;
  thread->nested_load = &call;
  thread->nested_load_begin_ns = MonotonicNs();
}

void EndNestedLoad(CudaThread* thread) noexcept {
  thread->nested_load = nullptr;
  const uint64_t end_ns = MonotonicNs();
  RecordFields fields;
  fields.begin = thread->nested_load_begin_ns;
  fields.duration = end_ns > fields.begin ? end_ns - fields.begin : 0;
  fields.id = thread->current != nullptr ? thread->current->correlation_id : 0;
  fields.stack = thread->tid.load(std::memory_order_relaxed);
  fields.kind = wire::RecordKind::kCodeLoad;
  fields.call = static_cast<uint16_t>(wire::CodeLoadKind::kModule);
  Commit(fields);
}

constinit std::atomic<uint64_t> g_graph_launches{0}, g_graph_launch_ticks{0};

// Common end of a call that either side has opened; the thread is still marked as being inside it.
void Close(CudaThread* thread, const CudaCallInfo& call, ActiveCall* active, const CudaCallArguments& arguments,
           int32_t result, bool from_callback) noexcept {
  const uint64_t end = Ticks();
  if (active->wait_published) EndWait(active->saved_wait);
  if (IsQuery(call.call_class) && result == kNotReady) {
    if (JoinSpin(&thread->spin, call, active->begin_ticks, end, arguments)) return;
  } else if (thread->spin.call != nullptr) {
    FlushSpin(&thread->spin);
  }
  if (call.call_class == CudaCallClass::kGraphLaunch) {
    g_graph_launches.fetch_add(1, std::memory_order_relaxed);
    g_graph_launch_ticks.fetch_add(end - active->begin_ticks, std::memory_order_relaxed);
  }
  uint64_t flags = active->correlation_id == 0 ? wire::kCudaFlagNoCupti : 0;
  NoteCapture(call, result, arguments);
  // Asking the runtime is only allowed outside CUPTI's callbacks.
  if (CapturesRunning() && Captured(call.call_class) && result == 0 &&
      (from_callback ? StreamIsKnownToCapture(arguments.object) : StreamIsCapturing(arguments.object))) {
    flags |= wire::kCudaFlagCapturing;
  }
  CommitCall(call, active->callback_id, active->begin_ticks, end, arguments.object, arguments.argument, arguments.copy,
             flags, active->correlation_id, result);
}

}  // namespace

bool BeginCall(const CudaCallInfo& call, uint64_t object, ActiveCall* active) noexcept {
  if (__builtin_expect(!Recording(), 0)) {
    if (SharedHeader() != nullptr) return false;
    // The first hook of a forked child, or one that runs before the agent's constructor.
    const int saved_errno = errno;
    EnsureSetUp();
    errno = saved_errno;
    if (!Recording()) return false;
  }
  CudaThread* thread = Thread();
  if (thread == nullptr) return false;
  // A call left open by a callback whose exit never came (CUPTI was taken in between) must not silence this thread for
  // ever.
  if (thread->current == &thread->from_callback) thread->current = nullptr;
  if (thread->current != nullptr) return false;
  if (__builtin_expect(!FirstCallDone(), 0)) FirstCudaCall(/*may_ask_runtime=*/true);
  thread->current = active;
  active->loads = call.call_class == CudaCallClass::kModuleLoad;
  active->begin_ticks = Ticks();
  if (Blocks(call.call_class)) {
    active->saved_wait = BeginWait(wire::RecordKind::kCudaCall, call.callback_id, object, active->begin_ticks);
    active->wait_published = true;
  }
  return true;
}

void EndCall(const CudaCallInfo& call, ActiveCall* active, const CudaCallArguments& arguments,
             int32_t result) noexcept {
  CudaThread* thread = t_cuda_thread;
  Close(thread, call, active, arguments, result, false);
  thread->current = nullptr;
}

uint64_t OnCallbackEnter(const CudaCallInfo& call, uint32_t correlation_id, const void* parameters) noexcept {
  CudaThread* thread = Thread();
  if (thread == nullptr) return 0;
  ActiveCall* current = thread->current;
  if (current == &g_own) return 0;
  if (current != nullptr && current != &thread->from_callback) {
    // The real function of our interposed one; its runtime callback comes first, driver calls below it carry the same
    // id.
    if (current->correlation_id == 0) current->correlation_id = correlation_id;
    if (call.domain == CudaDomain::kRuntime && current->callback_id == 0) current->callback_id = call.callback_id;
    BeginNestedLoad(thread, call);
    return current->begin_ticks;
  }
  if (current != nullptr && thread->callback_call->domain == CudaDomain::kRuntime &&
      call.domain == CudaDomain::kDriver) {
    if (call.call_class == CudaCallClass::kLaunch && parameters != nullptr) {
      thread->driver_stream = ReadCallbackParameters(call, parameters, false).object;
    }
    BeginNestedLoad(thread, call);
    return current->begin_ticks;
  }
  if (!Recording()) return 0;
  ActiveCall* active = &thread->from_callback;
  *active = {};
  active->correlation_id = correlation_id;
  active->loads = call.call_class == CudaCallClass::kModuleLoad;
  thread->callback_call = &call;
  thread->driver_stream = 0;
  thread->current = active;
  active->begin_ticks = Ticks();
  if (Blocks(call.call_class)) {
    uint64_t object = 0;
    if (parameters != nullptr &&
        (call.call_class == CudaCallClass::kSyncStream || call.call_class == CudaCallClass::kSyncEvent)) {
      const CudaCallArguments arguments = ReadCallbackParameters(call, parameters, false);
      object = call.call_class == CudaCallClass::kSyncEvent ? arguments.argument : arguments.object;
    }
    active->saved_wait = BeginWait(wire::RecordKind::kCudaCall, call.callback_id, object, active->begin_ticks);
    active->wait_published = true;
  }
  return active->begin_ticks;
}

void OnCallbackExit(const CudaCallInfo& call, const void* parameters, int32_t result) noexcept {
  CudaThread* thread = t_cuda_thread;
  if (thread == nullptr) return;
  if (__builtin_expect(thread->nested_load == &call, 0)) return EndNestedLoad(thread);
  if (thread->current != &thread->from_callback || thread->callback_call != &call) return;
  CudaCallArguments arguments;
  if (parameters != nullptr) arguments = ReadCallbackParameters(call, parameters, result == 0);
  if (arguments.object == 0) arguments.object = thread->driver_stream;
  Close(thread, call, &thread->from_callback, arguments, result, true);
  if (IsMemoryCall(call.call_class) && parameters != nullptr && result == 0) {
    NoteMemory(ReadCallbackMemory(call, parameters, true), thread->from_callback.correlation_id);
  }
  thread->current = nullptr;
}

GraphLaunchTotals ReadGraphLaunchTotals() noexcept {
  return {g_graph_launches.load(std::memory_order_relaxed), g_graph_launch_ticks.load(std::memory_order_relaxed)};
}

bool ThreadMadeCudaCalls() noexcept { return t_cuda_thread != nullptr; }

OwnCudaCalls::OwnCudaCalls() noexcept {
  CudaThread* thread = Thread();
  if (thread == nullptr) return;
  saved_ = thread->current;
  thread->current = &g_own;
}

OwnCudaCalls::~OwnCudaCalls() noexcept {
  if (t_cuda_thread != nullptr) t_cuda_thread->current = static_cast<ActiveCall*>(saved_);
}

}  // namespace stallscope::agent
