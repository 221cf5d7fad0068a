#include "agent/cupti/session.h"

#include <errno.h>
#include <time.h>

#include <atomic>

#include "agent/cuda/call_record.h"
#include "agent/cuda/call_table.h"
#include "agent/cupti/activity_decoder.h"
#include "agent/cupti/buffer_pool.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/library_clock.h"
#include "agent/cupti/text.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

using wire::Counter;
using wire::Level;

// stallscope.v1.State.What (the agent never sees the generated header).
constexpr uint32_t kStateCuptiActive = 2;
constexpr uint32_t kStateCuptiTaken = 3;
constexpr uint32_t kStateCuptiMissing = 4;
constexpr uint32_t kStateCuptiReturned = 5;

constexpr uint64_t kFlushEveryNs = 50'000'000;
constexpr uint64_t kRetryEveryNs = 1'000'000'000;
constexpr size_t kReasonBytes = 512;
// From this version on cuptiSubscribe_v2 starts a session that cannot be mixed with the process-wide calls used here.
constexpr uint32_t kSubscriberSessionsVersion = 130'200;

enum class Phase : uint32_t { kUntried, kMissing, kTaken, kActive };

// Constant-initialised and never destroyed: CUPTI's worker may call back while the process exits.
struct Session {
  std::atomic<Phase> phase{Phase::kUntried};
  CuptiFunctions cupti;
  BufferPool pool;
  ActivityDecoder decoder;
  CUpti_SubscriberHandle subscriber = nullptr;
  uint32_t version = 0;
  uint32_t kinds_on = 0;      // bits of kKinds; changed by the set-up and by the streaming thread alone
  bool callbacks_on = false;  // as above
  bool buffers_registered = false;
  bool own_clock = false;     // CUPTI stamps with our callback
  int32_t pid = 0;            // the process that set CUPTI up: a forked child must not touch it
  int32_t streaming_tid = 0;  // its CPU time is counted by the streaming thread itself
  uint64_t last_flush_ns = 0, last_try_ns = 0;
  std::atomic<uint64_t> decoded{0};
};
constinit Session g_session;

struct Kind {
  CUpti_ActivityKind kind;
  Level from;  // enabled from this level on
  Level until;
};
// Graph-level records replace the records of a graph's nodes; at the level that wants each node they are off.
constexpr Kind kKinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_MEMCPY, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_MEMSET, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, Level::kBudget, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, Level::kBudget, Level::kKernels},
};

void Check(CUptiResult result) {
  if (result != CUPTI_SUCCESS) Count(Counter::kCuptiErrors);
}

uint64_t ThreadCpuNs() {
  timespec cpu;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) != 0) return 0;
  return static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
}

// --- Called by CUPTI -------------------------------------------------------------------------------------------------

uint64_t CUPTIAPI Timestamp() { return MonotonicNs(); }

// On a thread of the program, inside a CUDA call.
void CUPTIAPI RequestBuffer(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = g_session.pool.Take();
  *bytes = BufferPool::kBufferBytes;
  *max_records = 0;  // as many as fit
}

// The calling thread may be the streaming thread (it flushes), whose hooks pass straight through: its records are
// wanted here.
class MayRecord {
 public:
  MayRecord() noexcept : inside_(t_local.inside) { t_local.inside = 0; }
  ~MayRecord() noexcept { t_local.inside = inside_; }
  MayRecord(const MayRecord&) = delete;
  MayRecord& operator=(const MayRecord&) = delete;

 private:
  uint16_t inside_;
};

// On CUPTI's worker, or on the thread that flushes. No lock is held by us and none may be taken that the program's
// threads take.
void CUPTIAPI CompleteBuffer(CUcontext context, uint32_t stream_id, uint8_t* buffer, size_t, size_t valid_bytes) {
  Session& session = g_session;
  const int saved_errno = errno;
  if (!session.pool.Owns(buffer)) {
    // The discard buffer, shared by whoever found the pool empty; or somebody else's. Its records are counted by
    // length.
    const uint32_t record_bytes =
        session.cupti.cuptiActivityGetNextRecord == nullptr ? 0 : sizeof(CUpti_ActivityKernel10);
    if (record_bytes != 0) Count(Counter::kCuptiDropped, (valid_bytes + record_bytes - 1) / record_bytes);
    errno = saved_errno;
    return;
  }
  const auto tid = static_cast<int32_t>(RawSyscall(SYS_gettid));
  const bool own_thread = tid == session.streaming_tid;
  const uint64_t cpu_before_ns = own_thread ? 0 : ThreadCpuNs();
  {
    const MayRecord may_record;
    UseBigRing();
    if (!session.own_clock) session.decoder.SetClockOffset(LibraryClockOffset(session.cupti.cuptiGetTimestamp));
    session.decoded.fetch_add(session.decoder.Decode(buffer, valid_bytes, MonotonicNs()), std::memory_order_relaxed);
  }
  const InsideAgent inside;
  size_t dropped = 0;
  if (session.cupti.cuptiActivityGetNumDroppedRecords(context, stream_id, &dropped) == CUPTI_SUCCESS && dropped != 0) {
    Count(Counter::kCuptiDropped, dropped);
  }
  session.pool.Return(buffer);
  if (!own_thread) {
    if (wire::Header* header = SharedHeader()) {
      header->agent_cpu_ns.fetch_add(ThreadCpuNs() - cpu_before_ns, std::memory_order_relaxed);
    }
  }
  errno = saved_errno;
}

// On the thread of the program that makes the call.
void CUPTIAPI Callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId callback_id, const void* callback_data) {
  const wire::CudaDomain our_domain =
      domain == CUPTI_CB_DOMAIN_RUNTIME_API ? wire::CudaDomain::kRuntime : wire::CudaDomain::kDriver;
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const CudaCallInfo* call = FindCudaCall(our_domain, callback_id);
  if (call == nullptr) return;
  const auto* data = static_cast<const CUpti_CallbackData*>(callback_data);
  if (data->callbackSite == CUPTI_API_ENTER) {
    OnCallbackEnter(*call, data->correlationId, data->functionParams);
  } else {
    // cudaError_t and CUresult are both int-sized enums.
    const int32_t result =
        data->functionReturnValue == nullptr ? 0 : *static_cast<const int32_t*>(data->functionReturnValue);
    OnCallbackExit(*call, data->functionParams, result);
  }
}

// --- Set-up and levels -----------------------------------------------------------------------------------------------

Level CurrentLevel() {
  const wire::Header* header = SharedHeader();
  if (header == nullptr) return Level::kOff;
  return static_cast<Level>(header->control.load(std::memory_order_relaxed) & 0xff);
}

void SwitchCallbacks(bool on) {
  Session& session = g_session;
  if (session.callbacks_on == on) return;
  for (uint32_t i = 0; i < kCudaCallCount; ++i) {
    const CudaCallInfo& call = kCudaCalls[i];
    const CUpti_CallbackDomain domain =
        call.domain == wire::CudaDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    // An older library refuses the ids that it does not know: those calls are seen by interposition alone.
    session.cupti.cuptiEnableCallback(on ? 1 : 0, session.subscriber, domain, call.callback_id);
  }
  session.callbacks_on = on;
}

void ApplyLevel(Level level) {
  Session& session = g_session;
  session.decoder.SetShapes(level >= Level::kKernels);
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < sizeof(kKinds) / sizeof(kKinds[0]); ++i) {
    if (level >= kKinds[i].from && level <= kKinds[i].until) wanted |= 1u << i;
  }
  for (uint32_t i = 0; i < sizeof(kKinds) / sizeof(kKinds[0]); ++i) {
    const uint32_t bit = 1u << i;
    if ((wanted & bit) == (session.kinds_on & bit)) continue;
    const CUptiResult result = (wanted & bit) != 0 ? session.cupti.cuptiActivityEnable(kKinds[i].kind)
                                                   : session.cupti.cuptiActivityDisable(kKinds[i].kind);
    Check(result);
    if (result == CUPTI_SUCCESS) session.kinds_on ^= bit;
  }
  SwitchCallbacks(level != Level::kOff);
}

// The name of the tool that holds CUPTI, where the library can tell.
void NameHolder(char* name, size_t name_bytes) {
  Session& session = g_session;
  name[0] = '\0';
  if (session.cupti.cuptiSubscribe_v2 == nullptr || session.version >= kSubscriberSessionsVersion) return;
  CUpti_SubscriberParams params = {};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "Stallscope";
  params.oldSubscriberName = name;
  params.oldSubscriberSize = name_bytes;
  CUpti_SubscriberHandle subscriber = nullptr;
  if (session.cupti.cuptiSubscribe_v2(&subscriber, Callback, nullptr, &params) == CUPTI_SUCCESS) {
    session.cupti.cuptiUnsubscribe(subscriber);  // it became free just now; the next try takes it
  }
}

void ReportMissing(const char* what, CUptiResult result) {
  const char* why = nullptr;
  g_session.cupti.cuptiGetResultString(result, &why);
  char reason[kReasonBytes];
  Text(reason, sizeof(reason))
      .Add(what)
      .Add(": ")
      .Add(why != nullptr ? why : "unknown error")
      .Add(" (")
      .AddNumber(result)
      .Add(")");
  ReportState(kStateCuptiMissing, result, reason);
  g_session.phase.store(Phase::kMissing, std::memory_order_release);
}

// One try to become the subscriber. `returned`: CUPTI had been taken before.
void Subscribe(bool returned) {
  Session& session = g_session;
  CuptiFunctions& cupti = session.cupti;
  const CUptiResult result = cupti.cuptiSubscribe(&session.subscriber, Callback, nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED) {
    if (!returned) {
      char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
      NameHolder(holder, sizeof(holder));
      ReportState(kStateCuptiTaken, 0, holder[0] != '\0' ? holder : "another tool");
    }
    session.phase.store(Phase::kTaken, std::memory_order_release);
    return;
  }
  if (result != CUPTI_SUCCESS) {
    ReportMissing("cuptiSubscribe", result);
    return;
  }
  if (!session.buffers_registered) {
    size_t bytes = sizeof(uint8_t);
    uint8_t off = 0, on = 1;
    // One pool for all threads (the default became a buffer a thread in 13.0), and no clearing of buffers on the
    // program's threads. Libraries that do not know an attribute refuse it, which leaves them as we want them.
    cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &off);
    cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &on);
    // Once a process: each registration more corrupts the times of some records.
    session.own_clock = cupti.cuptiActivityRegisterTimestampCallback != nullptr &&
                        cupti.cuptiActivityRegisterTimestampCallback(Timestamp) == CUPTI_SUCCESS;
    session.buffers_registered = true;
  }
  const CUptiResult registered = cupti.cuptiActivityRegisterCallbacks(RequestBuffer, CompleteBuffer);
  if (registered != CUPTI_SUCCESS) {
    cupti.cuptiUnsubscribe(session.subscriber);
    ReportMissing("cuptiActivityRegisterCallbacks", registered);
    return;
  }
  // Devices first, so that their names are known before their work; what exists already is told at once.
  if (cupti.cuptiActivityEnableAndDump == nullptr ||
      cupti.cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE) != CUPTI_SUCCESS) {
    Check(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE));
  }
  // Servers poll events all the time; a poll that finds its work unfinished needs no record.
  if (cupti.cuptiActivityEnableAllSyncRecords != nullptr) cupti.cuptiActivityEnableAllSyncRecords(0);
  session.phase.store(Phase::kActive, std::memory_order_release);
  ApplyLevel(CurrentLevel());
  ReportState(returned ? kStateCuptiReturned : kStateCuptiActive, session.version, nullptr);
}

// --- On the streaming thread -----------------------------------------------------------------------------------------

bool Usable() { return g_session.pid == RawSyscall(SYS_getpid); }

void Round(uint64_t now_ns) noexcept {
  Session& session = g_session;
  const Phase phase = session.phase.load(std::memory_order_acquire);
  if (phase != Phase::kActive && phase != Phase::kTaken) return;
  if (!Usable()) return;
  const InsideAgent inside;
  const OwnCudaCalls own;
  if (phase == Phase::kTaken) {
    if (now_ns - session.last_try_ns < kRetryEveryNs) return;
    session.last_try_ns = now_ns;
    Subscribe(true);
    return;
  }
  if (now_ns - session.last_flush_ns < kFlushEveryNs) return;
  session.last_flush_ns = now_ns;
  // Without a buffer out there is nothing to get, and a library that never asked for one can hang in the flush.
  if (session.pool.Outstanding() == 0) return;
  session.streaming_tid = static_cast<int32_t>(RawSyscall(SYS_gettid));
  // Never forced: a forced flush hands out running kernels without an end and does not give them again.
  Check(session.cupti.cuptiActivityFlushAll(0));
}

void LevelChangedTo(uint8_t level) noexcept {
  if (g_session.phase.load(std::memory_order_acquire) != Phase::kActive || !Usable()) return;
  const InsideAgent inside;
  const OwnCudaCalls own;
  ApplyLevel(static_cast<Level>(level));
}

}  // namespace

void SetUpCupti() noexcept {
  Session& session = g_session;
  if (session.phase.load(std::memory_order_acquire) != Phase::kUntried) return;
  session.pid = static_cast<int32_t>(RawSyscall(SYS_getpid));
  char reason[kReasonBytes];
  if (!LoadCupti(&session.cupti, reason, sizeof(reason))) {
    session.cupti = {};
    session.phase.store(Phase::kMissing, std::memory_order_release);
    ReportState(kStateCuptiMissing, 0, reason);
    return;
  }
  session.cupti.cuptiGetVersion(&session.version);
  if (!session.pool.Map()) {
    session.phase.store(Phase::kMissing, std::memory_order_release);
    ReportState(kStateCuptiMissing, 0, "no memory for activity buffers");
    return;
  }
  const wire::Header* header = SharedHeader();
  session.decoder.SetUp(session.cupti.cuptiActivityGetNextRecord,
                        ProbeRecordSizes(session.cupti.cuptiActivityGetNextRecord),
                        header == nullptr ? 0 : header->process_start_ns, ModuleLoaded("libsimgpu.so"));
  Subscribe(false);
  AddStreamingRound(Round);
  AddLevelChanged(LevelChangedTo);
}

const char* CuptiCallName(wire::CudaDomain domain, uint16_t callback_id) noexcept {
  const CuptiFunctions& cupti = g_session.cupti;
  if (cupti.cuptiGetCallbackName == nullptr) return nullptr;
  const char* name = nullptr;
  const CUpti_CallbackDomain cupti_domain =
      domain == wire::CudaDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  return cupti.cuptiGetCallbackName(cupti_domain, callback_id, &name) == CUPTI_SUCCESS ? name : nullptr;
}

}  // namespace stallscope::agent
