#include "agent/cupti/session.h"

#include <stdlib.h>
#include <string.h>

#include "agent/cuda/call_record.h"
#include "agent/cupti/callback_cost.h"
#include "agent/cupti/cost_governor.h"
#include "agent/cupti/keeper_thread.h"
#include "agent/cupti/mps.h"
#include "agent/cupti/other_clients.h"
#include "agent/cupti/session_state.h"
#include "agent/cupti/takeover_watch.h"
#include "agent/cupti/text.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/real_calls.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

constinit CuptiSession g_cupti_session;

namespace {

constexpr uint32_t kStateCuptiMissing = 4;  // stallscope.v1.State.What

constexpr uint32_t kRoundMs = 50;  // how late a GPU record may be, beside the streaming thread's own round
constexpr uint64_t kRetryEveryNs = 1'000'000'000;
constexpr uint64_t kFinalFlushNs = 1'000'000'000;  // usually a few ms; a busy machine may let the keeper wait
constexpr uint64_t kYieldNs = 500'000'000;
constexpr size_t kReasonBytes = 512;

// What is asked of the keeper beside its rounds.
std::atomic<bool> g_yield_wanted{false}, g_detach_wanted{false}, g_level_set{false};
char g_yield_to[96];  // written by the first of several clients that come at once; for people

bool Usable() noexcept { return g_cupti_session.pid.load(std::memory_order_acquire) == RawSyscall(SYS_getpid); }

CuptiPhase Phase() noexcept { return g_cupti_session.phase.load(std::memory_order_acquire); }

// --- On the keeper thread

void LookForTakeover(uint64_t now_ns) noexcept {
  static TakeoverWatch watch;
  static bool switched_on_again = false;
  CuptiSession& session = g_cupti_session;
  if (session.kinds_on == 0) return;
  const TakeoverWatch::Observed observed = {
      session.enqueued.load(std::memory_order_relaxed),
      session.pool.requests() - session.requests_of_keeper.load(std::memory_order_relaxed),
      session.completions.load(std::memory_order_relaxed), session.pulses.load(std::memory_order_relaxed),
      session.pool.Outstanding()};
  static uint64_t known_completions = 0;
  if (observed.completions != known_completions) switched_on_again = false;
  known_completions = observed.completions;
  switch (watch.Look(now_ns, observed)) {
    case TakeoverWatch::Verdict::kFine:
      return;
    case TakeoverWatch::Verdict::kSwitchedOff:
      // Once: a client that ended has switched off what it had switched on. When that does not help, the buffers are
      // not ours any more.
      if (!switched_on_again) {
        switched_on_again = true;
        Count(wire::Counter::kCuptiSwitchedOff);
        ForgetKinds();
        watch.Reset(observed);
        return;
      }
      break;
    case TakeoverWatch::Verdict::kTakenAway:
      break;
  }
  switched_on_again = false;
  watch = {};
  GiveUpBuffers();
}

void MeasureCallbacks() noexcept {
  CuptiSession& session = g_cupti_session;
  if (!session.callback_cost_wanted) return;
  session.callback_cost_wanted = false;
  session.callback_cost_ns = MeasureCallbackCost();
  const uint64_t ticks =
      (uint64_t{session.callback_cost_ns} * g_ticks_per_ns_q20.load(std::memory_order_relaxed)) >> 20;
  session.callback_cost_ticks.store(static_cast<uint32_t>(ticks), std::memory_order_relaxed);
}

// How much detail the program can afford now.
void Govern(uint64_t now_ns) noexcept {
  static CostGovernor governor;
  static CostGovernor::Decision before;
  static bool unlearned = false;
  CuptiSession& session = g_cupti_session;
  const wire::Header* header = SharedHeader();
  const CostOrders orders = TakeCostOrders();
  governor.SetLimit(orders.limit_ppm);
  if (orders.node_window_ms != 0) governor.AskForWindow(uint64_t{orders.node_window_ms} * 1'000'000);
  // What the user asked for has been acknowledged already.
  const bool asked = g_level_set.exchange(false, std::memory_order_relaxed) || before.level == wire::Level::kOff;
  if (asked) governor.Ask(CurrentLevel());
  const GraphLaunchTotals launches = ReadGraphLaunchTotals();
  const uint64_t ticks_per_ns_q20 = g_ticks_per_ns_q20.load(std::memory_order_relaxed);
  const auto ns_of = [ticks_per_ns_q20](uint64_t ticks) {
    return ticks_per_ns_q20 == 0 ? ticks
                                 : static_cast<uint64_t>((static_cast<__uint128_t>(ticks) << 20) / ticks_per_ns_q20);
  };
  unlearned = session.decoder.TakeUnlearned() || (unlearned && !before.window);
  const CostGovernor::Decision now =
      governor.Look({now_ns, header == nullptr ? 0 : header->agent_cpu_ns.load(std::memory_order_relaxed),
                     ns_of(session.callback_ticks.load(std::memory_order_relaxed)), launches.count,
                     ns_of(launches.ticks), unlearned});
  ApplyDetail({now.level, now.gpu_records, now.window});
  const auto why = now.reason == CostGovernor::Reason::kAsked ? Governed::Why::kAsAsked
                   : now.gpu_records                          ? Governed::Why::kLessDetail
                                                              : Governed::Why::kNoGpuRecords;
  ShowGoverned({why, static_cast<uint8_t>(governor.asked()), now.window, now.cost_ppm, orders.limit_ppm,
                session.callback_cost_ns});
  if (!asked && (now.level != before.level || now.gpu_records != before.gpu_records)) {
    char reason[96];
    Text text(reason, sizeof(reason));
    if (now.reason == CostGovernor::Reason::kCost) {
      text.Add(now.gpu_records ? "" : "no GPU records: ")
          .Add("cost over the limit of ")
          .AddNumber(orders.limit_ppm)
          .Add(" ppm");
    } else {
      text.Add("as asked for");
    }
    ShowLevel(static_cast<uint8_t>(now.level), reason);
  }
  before = now;
}

void YieldIfWanted() noexcept {
  if (!g_yield_wanted.exchange(false, std::memory_order_acq_rel)) return;
  if (Phase() == CuptiPhase::kActive) LetGoOfCupti(g_yield_to);
}

void Round(uint64_t now_ns) noexcept {
  static uint64_t last_try_ns = 0;
  CuptiSession& session = g_cupti_session;
  const OwnCudaCalls own;
  YieldIfWanted();
  switch (Phase()) {
    case CuptiPhase::kStolen:
      if (!g_level_set.load(std::memory_order_relaxed)) return;
      session.phase.store(CuptiPhase::kTaken, std::memory_order_release);
      last_try_ns = now_ns;
      Subscribe(true);
      return;
    case CuptiPhase::kTaken:
      if (now_ns - last_try_ns < kRetryEveryNs || g_other_clients.Busy(now_ns)) return;
      last_try_ns = now_ns;
      Subscribe(true);
      return;
    case CuptiPhase::kActive:
      MeasureCallbacks();
      Govern(now_ns);
      FlushCupti();
      LookForTakeover(now_ns);
      return;
    default:
      return;
  }
}

// Buffers that came back neither in the last flush nor before it.
void CountWithheld() noexcept {
  if (const uint32_t buffers = g_cupti_session.pool.Outstanding(); buffers != 0) {
    Count(wire::Counter::kCuptiBuffersWithheld, buffers);
  }
}

void FinalRound() noexcept {
  CuptiSession& session = g_cupti_session;
  if (Phase() != CuptiPhase::kActive) return;
  const OwnCudaCalls own;
  if (!g_detach_wanted.load(std::memory_order_acquire)) {
    // A flush is an overhead too, and its record would take a buffer out again.
    session.cupti.Disable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    FlushCupti(true);
    CountWithheld();
    return;
  }
  const char* finalize = STALLSCOPE_REAL(getenv)("STALLSCOPE_CUPTI_FINALIZE");
  if (finalize != nullptr && strcmp(finalize, "1") == 0) {
    // CUPTI wants to be ended from the end of a CUDA call: the subscription stays until one comes (api_callback.cc).
    FlushCupti();
    session.phase.store(CuptiPhase::kGone, std::memory_order_release);
    session.finalize_wanted.store(true, std::memory_order_release);
    return;
  }
  LetGoOfCupti(nullptr);
  CountWithheld();
  session.phase.store(CuptiPhase::kGone, std::memory_order_release);
}

// On a thread that ends the process, or the agent's work in it. Whoever comes second after a time-out does not wait again.
void LastFlush() noexcept {
  static std::atomic<bool> given_up{false};
  if (FinishKeeper(given_up.load(std::memory_order_relaxed) ? 0 : kFinalFlushNs)) return;
  if (!given_up.exchange(true, std::memory_order_relaxed)) Count(wire::Counter::kFinalFlushTimeouts);
}

// On the thread that ends the process, or makes it another program: CUPTI's last records go into the rings before the
// streaming thread empties them for the last time.
void BeforeGoodbyeIsSaid(bool exec) noexcept {
  if (!Usable()) return;
  if (exec) {
    if (!RunKeeperRound(kFinalFlushNs)) Count(wire::Counter::kFinalFlushTimeouts);
  } else {
    LastFlush();
  }
}

// On the streaming thread, which must not call CUPTI itself.
void LevelChangedTo(uint8_t) noexcept {
  g_level_set.store(true, std::memory_order_relaxed);
  if (Usable()) WakeKeeper();
}

void Detach() noexcept {
  if (!Usable()) return;
  g_detach_wanted.store(true, std::memory_order_release);
  LastFlush();
}

}  // namespace

void YieldCupti(const char* client) noexcept {
  if (!Usable() || Phase() != CuptiPhase::kActive || IsKeeper()) return;
  if (!g_yield_wanted.load(std::memory_order_acquire)) {
    Text(g_yield_to, sizeof(g_yield_to)).Add(client);
    g_yield_wanted.store(true, std::memory_order_release);
  }
  RunKeeperRound(kYieldNs);
}

bool CuptiIsShared() noexcept {
  return Usable() && Phase() == CuptiPhase::kActive && g_cupti_session.cupti.per_subscriber();
}

void SetUpCupti() noexcept {
  CuptiSession& session = g_cupti_session;
  if (Phase() != CuptiPhase::kUntried) return;
  session.pid.store(static_cast<int32_t>(RawSyscall(SYS_getpid)), std::memory_order_release);
  char reason[kReasonBytes];
  if (!LoadCupti(&session.cupti.functions, reason, sizeof(reason))) {
    session.cupti.functions = {};
    session.phase.store(CuptiPhase::kMissing, std::memory_order_release);
    ReportState(kStateCuptiMissing, 0, reason);
    return;
  }
  session.cupti.SetUp();
  LookForMps();
  if (!session.pool.Map()) {
    session.phase.store(CuptiPhase::kMissing, std::memory_order_release);
    ReportState(kStateCuptiMissing, 0, "no memory for activity buffers");
    return;
  }
  const wire::Header* header = SharedHeader();
  session.decoder.SetUp(header == nullptr ? 0 : header->process_start_ns, ModuleLoaded("libsimgpu.so"));
  Subscribe(false);
  if (Phase() == CuptiPhase::kMissing) return;
  if (!StartKeeper({Round, FinalRound, kRoundMs})) {
    Count(wire::Counter::kInternal);
    return;
  }
  AddLevelChanged(LevelChangedTo);
  AddBeforeGoodbye(BeforeGoodbyeIsSaid);
  AddDetach(Detach);
}

void ReopenCupti() noexcept {
  CuptiSession& session = g_cupti_session;
  if (!Usable() || Phase() != CuptiPhase::kGone || session.finalize_wanted.load(std::memory_order_acquire)) return;
  g_detach_wanted.store(false, std::memory_order_release);
  session.phase.store(CuptiPhase::kTaken, std::memory_order_release);
  Subscribe(true);
  if (Phase() == CuptiPhase::kMissing) return;
  g_level_set.store(true, std::memory_order_relaxed);
  if (!StartKeeper({Round, FinalRound, kRoundMs})) Count(wire::Counter::kInternal);
}

void FinishCupti() noexcept {
  if (Usable()) LastFlush();
}

const char* CuptiCallName(wire::CudaDomain domain, uint16_t callback_id) noexcept {
  const CuptiFunctions& functions = g_cupti_session.cupti.functions;
  if (functions.cuptiGetCallbackName == nullptr) return nullptr;
  const char* name = nullptr;
  const CUpti_CallbackDomain cupti_domain =
      domain == wire::CudaDomain::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  return functions.cuptiGetCallbackName(cupti_domain, callback_id, &name) == CUPTI_SUCCESS ? name : nullptr;
}

}  // namespace stallscope::agent
