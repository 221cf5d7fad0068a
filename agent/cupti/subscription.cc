// Taking CUPTI, and giving it up.
#include "agent/cupti/linked_clients.h"
#include "agent/cupti/other_clients.h"
#include "agent/cupti/session_state.h"
#include "agent/cupti/text.h"
#include "agent/entry/lifecycle.h"
#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {
namespace {

// stallscope.v1.State.What (the agent never sees the generated header).
constexpr uint32_t kStateCuptiActive = 2;
constexpr uint32_t kStateCuptiTaken = 3;
constexpr uint32_t kStateCuptiMissing = 4;
constexpr uint32_t kStateCuptiReturned = 5;

constexpr size_t kReasonBytes = 160;

// Settings of the library that hold for every client of the process-wide interface.
struct Setting {
  CUpti_ActivityAttribute attribute;
  uint8_t ours;
  uint8_t found;
  bool changed;
};
// One pool for all threads (the default became a buffer a thread in 13.0), and no clearing of buffers on the program's
// threads. Libraries that do not know an attribute refuse it, which leaves them as we want them.
Setting g_settings[] = {{CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0, 0, false},
                        {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, 0, false}};

bool g_clock_registered = false;
std::atomic<bool> g_clock_is_ours{false};

uint64_t RealtimeNs() noexcept {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, CLOCK_REALTIME, AsArgument(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// CUPTI relates the GPU's clock to the callback's by samples that it takes now and then. A record between two samples of
// different clocks would get a time of neither, so nothing is enabled for this long after a change. How long the real
// library's interval is has to be asked of a real GPU; the simulated one takes 100 ms.
constexpr uint64_t kClockSettlesNs = 120'000'000;

void SwitchClock(bool ours) noexcept {
  if (g_clock_is_ours.exchange(ours, std::memory_order_relaxed) == ours || g_other_clients.own_clock()) return;
  const timespec pause = {0, static_cast<long>(kClockSettlesNs)};
  RawSyscall(SYS_nanosleep, AsArgument(&pause), 0);
}

// While CUPTI is in other hands the callback cannot be taken back, but it answers what CUPTI itself would have.
uint64_t CUPTIAPI Timestamp() { return g_clock_is_ours.load(std::memory_order_relaxed) ? MonotonicNs() : RealtimeNs(); }

void ApplySettings() noexcept {
  CuptiInterface& cupti = g_cupti_session.cupti;
  for (Setting& setting : g_settings) {
    setting.changed = cupti.GetFlag(setting.attribute, &setting.found) == CUPTI_SUCCESS;
    cupti.SetFlag(setting.attribute, setting.ours);
  }
  // Servers poll events all the time; a poll that finds its work unfinished needs no record.
  if (!cupti.per_subscriber() && cupti.functions.cuptiActivityEnableAllSyncRecords != nullptr) {
    cupti.functions.cuptiActivityEnableAllSyncRecords(0);
  }
  // Once a process: each registration more corrupts the times of some records. Subscribers that share have no say.
  if (!g_clock_registered && !cupti.per_subscriber() &&
      cupti.functions.cuptiActivityRegisterTimestampCallback != nullptr) {
    g_clock_is_ours.store(true, std::memory_order_relaxed);
    g_clock_registered = cupti.functions.cuptiActivityRegisterTimestampCallback(Timestamp) == CUPTI_SUCCESS;
    if (!g_clock_registered) g_clock_is_ours.store(false, std::memory_order_relaxed);
  }
  if (g_clock_registered) SwitchClock(true);
  g_cupti_session.own_clock = g_clock_registered && !g_other_clients.own_clock() && !cupti.per_subscriber();
}

// Half a second or so, in rounds of the keeper.
constexpr uint32_t kLongestWaitRounds = 7;

void RestoreSettings() noexcept {
  CuptiInterface& cupti = g_cupti_session.cupti;
  for (Setting& setting : g_settings) {
    if (setting.changed) cupti.SetFlag(setting.attribute, setting.found);
    setting.changed = false;
  }
  if (!cupti.per_subscriber() && cupti.functions.cuptiActivityEnableAllSyncRecords != nullptr) {
    cupti.functions.cuptiActivityEnableAllSyncRecords(1);
  }
  if (g_clock_registered) SwitchClock(false);
}

bool MeansTaken(CUptiResult result) noexcept {
  return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED ||
         result == CUPTI_ERROR_NOT_COMPATIBLE;
}

// The two interfaces cannot be mixed in a process, and nobody goes back from one to the other. So the agent uses the one
// that the others of this process use, as far as that can be seen; on a library that has both, else the one that can be
// shared.
bool PreferPerSubscriber() noexcept {
  if (!g_cupti_session.cupti.CanBePerSubscriber() || g_other_clients.process_wide()) return false;
  return g_other_clients.shares() || !LinksProcessWideCupti();
}

CUptiResult SubscribeEitherWay(char* holder, size_t holder_bytes) noexcept {
  static bool process_wide_used = false;
  CuptiInterface& cupti = g_cupti_session.cupti;
  if (!process_wide_used && (cupti.per_subscriber() || PreferPerSubscriber())) {
    const bool first = !cupti.per_subscriber();
    const CUptiResult result = cupti.Subscribe(/*per_subscriber=*/true, OnCuptiCallback, holder, holder_bytes);
    // A driver before r610 shares with nobody; another client may use the other interface.
    if (!MeansTaken(result) || !first) return result;
    cupti.UsePerProcess();
  }
  const CUptiResult result = cupti.Subscribe(/*per_subscriber=*/false, OnCuptiCallback, holder, holder_bytes);
  process_wide_used |= result == CUPTI_SUCCESS;
  return result;
}

void ReportMissing(const char* what, CUptiResult result) noexcept {
  const char* why = nullptr;
  g_cupti_session.cupti.functions.cuptiGetResultString(result, &why);
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

}  // namespace

void Subscribe(bool returned) noexcept {
  CuptiSession& session = g_cupti_session;
  CuptiInterface& cupti = session.cupti;
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  CUptiResult result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  // libkineto uses CUPTI without subscribing: a subscription of ours would succeed, and our buffers would replace its.
  if (!g_other_clients.Busy(MonotonicNs())) result = SubscribeEitherWay(holder, sizeof(holder));
  if (MeansTaken(result)) {
    if (!returned) ReportState(kStateCuptiTaken, 0, holder[0] != '\0' ? holder : "another tool");
    session.phase.store(CuptiPhase::kTaken, std::memory_order_release);
    return;
  }
  if (result != CUPTI_SUCCESS) return ReportMissing("cuptiSubscribe", result);
  ForgetKinds();
  session.callbacks_on = false;
  if (const uint32_t buffers = session.pool.BeginTurn(); buffers != 0) Count(wire::Counter::kCuptiBuffersLost, buffers);
  session.decoder.UseParser(cupti.Parser(), ProbeRecordSizes(cupti.Parser()));
  ApplySettings();
  const CUptiResult registered = cupti.RegisterBuffers(kBufferFunctions);
  if (registered != CUPTI_SUCCESS) {
    RestoreSettings();
    cupti.Unsubscribe();
    return ReportMissing("cuptiActivityRegisterCallbacks", registered);
  }
  // Devices first, so that their names are known before their work; what exists already is told at once.
  CheckCupti(cupti.EnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE));
  CheckCupti(cupti.EnableAndDump(CUPTI_ACTIVITY_KIND_CONTEXT));
  session.callback_cost_wanted = true;
  session.phase.store(CuptiPhase::kActive, std::memory_order_release);
  ApplyDetail({CurrentLevel()});
  ReportState(returned ? kStateCuptiReturned : kStateCuptiActive, cupti.version(),
              cupti.per_subscriber() ? "shared with others" : nullptr);
}

void FlushCupti(bool last) noexcept {
  static uint64_t enqueued_before = 0;
  CuptiSession& session = g_cupti_session;
  // A library that was never asked for anything can hang in the flush. Work that was enqueued since the last one may have
  // records that wait for a buffer.
  const uint64_t enqueued = session.enqueued.load(std::memory_order_relaxed);
  const bool may_have_more = (last || enqueued != enqueued_before) && session.pool.requests() != 0;
  enqueued_before = enqueued;
  // What is out may hold nothing but the last flush's record of itself, or something unfinished: asked for ever less often.
  static uint64_t told_before = 0;
  static uint32_t rounds_waited = 0, rounds_to_wait = 0;
  const uint64_t told = session.decoder.told();
  if (may_have_more || told != told_before) rounds_to_wait = 0;
  told_before = told;
  if (may_have_more) {
    CheckCupti(session.cupti.Flush());
  } else if (session.pool.Outstanding() != 0 && rounds_waited++ >= rounds_to_wait) {
    rounds_waited = 0;
    rounds_to_wait = rounds_to_wait >= kLongestWaitRounds ? kLongestWaitRounds : rounds_to_wait * 2 + 1;
    CheckCupti(session.cupti.Flush());
  }
}

void LetGoOfCupti(const char* client) noexcept {
  CuptiSession& session = g_cupti_session;
  CuptiInterface& cupti = session.cupti;
  FlushCupti();  // a library may give up what it still holds of a kind that is disabled
  ApplyDetail({});
  CheckCupti(cupti.Disable(CUPTI_ACTIVITY_KIND_DEVICE));
  CheckCupti(cupti.Disable(CUPTI_ACTIVITY_KIND_CONTEXT));
  if (session.pool.Outstanding() != 0) CheckCupti(cupti.Flush());
  RestoreSettings();
  session.phase.store(CuptiPhase::kTaken, std::memory_order_release);
  CheckCupti(cupti.Unsubscribe());
  if (client != nullptr) ReportState(kStateCuptiTaken, 0, client);
}

void GiveUpBuffers() noexcept {
  CuptiSession& session = g_cupti_session;
  session.phase.store(CuptiPhase::kStolen, std::memory_order_release);
  CheckCupti(session.cupti.Unsubscribe());
  g_clock_is_ours.store(false, std::memory_order_relaxed);
  ReportState(kStateCuptiTaken, 0, "another client, which took the buffers; set the level to take CUPTI again");
}

}  // namespace stallscope::agent
