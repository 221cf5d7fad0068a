#include "agent/cupti/session.h"

#include "agent/cuda/call_record.h"
#include "agent/cuda/call_table.h"
#include "agent/cupti/keeper_thread.h"
#include "agent/cupti/session_state.h"
#include "agent/cupti/text.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

constinit CuptiSession g_cupti_session;

namespace {

using wire::Level;

// stallscope.v1.State.What (the agent never sees the generated header).
constexpr uint32_t kStateCuptiActive = 2;
constexpr uint32_t kStateCuptiTaken = 3;
constexpr uint32_t kStateCuptiMissing = 4;
constexpr uint32_t kStateCuptiReturned = 5;

constexpr uint32_t kRoundMs = 100;  // how late a GPU record may be, beside the streaming thread's own round
constexpr uint64_t kRetryEveryNs = 1'000'000'000;
constexpr uint64_t kFinalFlushNs = 100'000'000;
constexpr size_t kReasonBytes = 512;
// From this version on cuptiSubscribe_v2 starts a session that cannot be mixed with the process-wide calls used here.
constexpr uint32_t kSubscriberSessionsVersion = 130'200;

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
    // Says no more about a wait than the call does; for people who look at every record.
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, Level::kKernels, Level::kNodes},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, Level::kBudget, Level::kKernels},
};
constexpr uint32_t kKindCount = sizeof(kKinds) / sizeof(kKinds[0]);

uint64_t CUPTIAPI Timestamp() { return MonotonicNs(); }

bool Usable() noexcept { return g_cupti_session.pid.load(std::memory_order_acquire) == RawSyscall(SYS_getpid); }

Level CurrentLevel() {
  const wire::Header* header = SharedHeader();
  if (header == nullptr) return Level::kOff;
  return static_cast<Level>(header->control.load(std::memory_order_relaxed) & 0xff);
}

void SwitchCallbacks(bool on) {
  CuptiSession& session = g_cupti_session;
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
  CuptiSession& session = g_cupti_session;
  session.decoder.SetShapes(level >= Level::kKernels);
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < kKindCount; ++i) {
    if (level >= kKinds[i].from && level <= kKinds[i].until) wanted |= 1u << i;
  }
  for (uint32_t i = 0; i < kKindCount; ++i) {
    const uint32_t bit = 1u << i;
    if ((wanted & bit) == (session.kinds_on & bit) || (session.kinds_refused & bit) != 0) continue;
    const CUptiResult result = (wanted & bit) != 0 ? session.cupti.cuptiActivityEnable(kKinds[i].kind)
                                                   : session.cupti.cuptiActivityDisable(kKinds[i].kind);
    CheckCupti(result);
    if (result == CUPTI_SUCCESS) {
      session.kinds_on ^= bit;
    } else if ((wanted & bit) != 0) {
      session.kinds_refused |= bit;
    }
  }
  SwitchCallbacks(level != Level::kOff);
}

// The name of the tool that holds CUPTI, where the library can tell.
void NameHolder(char* name, size_t name_bytes) {
  CuptiSession& session = g_cupti_session;
  name[0] = '\0';
  if (session.cupti.cuptiSubscribe_v2 == nullptr || session.version >= kSubscriberSessionsVersion) return;
  CUpti_SubscriberParams params = {};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "Stallscope";
  params.oldSubscriberName = name;
  params.oldSubscriberSize = name_bytes;
  CUpti_SubscriberHandle subscriber = nullptr;
  if (session.cupti.cuptiSubscribe_v2(&subscriber, OnCuptiCallback, nullptr, &params) == CUPTI_SUCCESS) {
    session.cupti.cuptiUnsubscribe(subscriber);  // it became free just now; the next try takes it
  }
}

void ReportMissing(const char* what, CUptiResult result) {
  const char* why = nullptr;
  g_cupti_session.cupti.cuptiGetResultString(result, &why);
  char reason[kReasonBytes];
  const bool driver = ModuleLoaded("libcuda.so");
  Text(reason, sizeof(reason))
      .Add(what)
      .Add(": ")
      .Add(why != nullptr ? why : "unknown error")
      .Add(" (")
      .AddNumber(result)
      .Add(driver ? ")" : "): no CUDA driver (libcuda.so) is loaded");
  ReportState(kStateCuptiMissing, result, reason);
  g_cupti_session.phase.store(CuptiPhase::kMissing, std::memory_order_release);
}

// One try to become the subscriber. `returned`: CUPTI had been taken before.
void Subscribe(bool returned) {
  CuptiSession& session = g_cupti_session;
  CuptiFunctions& cupti = session.cupti;
  const CUptiResult result = cupti.cuptiSubscribe(&session.subscriber, OnCuptiCallback, nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED) {
    if (!returned) {
      char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
      NameHolder(holder, sizeof(holder));
      ReportState(kStateCuptiTaken, 0, holder[0] != '\0' ? holder : "another tool");
    }
    session.phase.store(CuptiPhase::kTaken, std::memory_order_release);
    return;
  }
  if (result != CUPTI_SUCCESS) {
    ReportMissing("cuptiSubscribe", result);
    return;
  }
  session.kinds_refused = 0;
  if (!session.configured) {
    size_t bytes = sizeof(uint8_t);
    uint8_t off = 0, on = 1;
    // One pool for all threads (the default became a buffer a thread in 13.0), and no clearing of buffers on the
    // program's threads. Libraries that do not know an attribute refuse it, which leaves them as we want them.
    cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &off);
    cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &on);
    // Once a process: each registration more corrupts the times of some records.
    session.own_clock = cupti.cuptiActivityRegisterTimestampCallback != nullptr &&
                        cupti.cuptiActivityRegisterTimestampCallback(Timestamp) == CUPTI_SUCCESS;
    session.configured = true;
  }
  const CUptiResult registered = cupti.cuptiActivityRegisterCallbacks(RequestActivityBuffer, CompleteActivityBuffer);
  if (registered != CUPTI_SUCCESS) {
    cupti.cuptiUnsubscribe(session.subscriber);
    ReportMissing("cuptiActivityRegisterCallbacks", registered);
    return;
  }
  // Devices first, so that their names are known before their work; what exists already is told at once.
  if (cupti.cuptiActivityEnableAndDump == nullptr ||
      cupti.cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE) != CUPTI_SUCCESS) {
    CheckCupti(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DEVICE));
  }
  // Servers poll events all the time; a poll that finds its work unfinished needs no record.
  if (cupti.cuptiActivityEnableAllSyncRecords != nullptr) cupti.cuptiActivityEnableAllSyncRecords(0);
  session.phase.store(CuptiPhase::kActive, std::memory_order_release);
  ApplyLevel(CurrentLevel());
  ReportState(returned ? kStateCuptiReturned : kStateCuptiActive, session.version, nullptr);
}

// --- On the keeper thread
// ---------------------------------------------------------------------------------------------

void Flush() noexcept {
  CuptiSession& session = g_cupti_session;
  // Without a buffer out there is nothing to get, and a library that never asked for one can hang in the flush. Never
  // forced: that would hand out running kernels without an end and not give them again.
  if (session.pool.Outstanding() != 0) CheckCupti(session.cupti.cuptiActivityFlushAll(0));
}

void Round(uint64_t now_ns) noexcept {
  static uint64_t last_try_ns = 0;
  CuptiSession& session = g_cupti_session;
  const OwnCudaCalls own;
  switch (session.phase.load(std::memory_order_acquire)) {
    case CuptiPhase::kTaken:
      if (now_ns - last_try_ns < kRetryEveryNs) return;
      last_try_ns = now_ns;
      Subscribe(true);
      return;
    case CuptiPhase::kActive:
      ApplyLevel(CurrentLevel());
      Flush();
      return;
    default:
      return;
  }
}

void FinalRound() noexcept {
  if (g_cupti_session.phase.load(std::memory_order_acquire) != CuptiPhase::kActive) return;
  const OwnCudaCalls own;
  Flush();
}

// On the thread that ends the process, or makes it another program: CUPTI's last records go into the rings before the
// streaming thread empties them for the last time.
void BeforeGoodbyeIsSaid(bool exec) noexcept {
  if (!Usable()) return;
  if (exec) {
    RunKeeperRound(kFinalFlushNs);
  } else {
    FinishKeeper(kFinalFlushNs);
  }
}

// On the streaming thread, which must not call CUPTI itself.
void LevelChangedTo(uint8_t) noexcept {
  if (Usable()) WakeKeeper();
}

}  // namespace

void SetUpCupti() noexcept {
  CuptiSession& session = g_cupti_session;
  if (session.phase.load(std::memory_order_acquire) != CuptiPhase::kUntried) return;
  session.pid.store(static_cast<int32_t>(RawSyscall(SYS_getpid)), std::memory_order_release);
  char reason[kReasonBytes];
  if (!LoadCupti(&session.cupti, reason, sizeof(reason))) {
    session.cupti = {};
    session.phase.store(CuptiPhase::kMissing, std::memory_order_release);
    ReportState(kStateCuptiMissing, 0, reason);
    return;
  }
  session.cupti.cuptiGetVersion(&session.version);
  if (!session.pool.Map()) {
    session.phase.store(CuptiPhase::kMissing, std::memory_order_release);
    ReportState(kStateCuptiMissing, 0, "no memory for activity buffers");
    return;
  }
  const wire::Header* header = SharedHeader();
  session.decoder.SetUp(RecordParser(session.cupti.cuptiActivityGetNextRecord),
                        ProbeRecordSizes(RecordParser(session.cupti.cuptiActivityGetNextRecord)),
                        header == nullptr ? 0 : header->process_start_ns, ModuleLoaded("libsimgpu.so"));
  Subscribe(false);
  if (session.phase.load(std::memory_order_acquire) == CuptiPhase::kMissing) return;
  if (!StartKeeper({Round, FinalRound, kRoundMs})) {
    Count(wire::Counter::kInternal);
    return;
  }
  AddLevelChanged(LevelChangedTo);
  AddBeforeGoodbye(BeforeGoodbyeIsSaid);
}

void FinishCupti() noexcept {
  if (Usable()) FinishKeeper(kFinalFlushNs);
}

const char* CuptiCallName(wire::CudaDomain domain, uint16_t callback_id) noexcept {
  const CuptiFunctions& cupti = g_cupti_session.cupti;
  if (cupti.cuptiGetCallbackName == nullptr) return nullptr;
  const char* name = nullptr;
  const CUpti_CallbackDomain cupti_domain =
      domain == wire::CudaDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  return cupti.cuptiGetCallbackName(cupti_domain, callback_id, &name) == CUPTI_SUCCESS ? name : nullptr;
}

}  // namespace stallscope::agent
