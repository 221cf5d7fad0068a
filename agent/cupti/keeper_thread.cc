#include "agent/cupti/keeper_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <atomic>

#include "agent/cupti/own_cost.h"
#include "agent/entry/real_calls.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

// Futex word: bit 0 asks for a round now, bit 1 for the final one.
constexpr uint32_t kRoundWanted = 1, kFinalWanted = 2;
constinit std::atomic<uint32_t> g_wanted{0};
constinit std::atomic<uint32_t> g_finished{0};  // futex: 1 once the final round is over
constinit std::atomic<uint32_t> g_rounds{0};    // futex: counts rounds that are over
constinit std::atomic<pthread_t> g_keeper{};
constinit std::atomic<int32_t> g_keeper_pid{0};
constinit KeeperWork g_work = {};

void Wait(std::atomic<uint32_t>* word, uint32_t value, uint64_t timeout_ns) noexcept {
  const timespec timeout = {static_cast<time_t>(timeout_ns / 1'000'000'000u),
                            static_cast<long>(timeout_ns % 1'000'000'000u)};
  RawSyscall(SYS_futex, AsArgument(word), FUTEX_WAIT_PRIVATE, value, AsArgument(&timeout));
}

void Wake(std::atomic<uint32_t>* word) noexcept {
  RawSyscall(SYS_futex, AsArgument(word), FUTEX_WAKE_PRIVATE, INT32_MAX);
}

// In the process that started it: a forked child has none.
bool HasKeeper() noexcept { return g_keeper_pid.load(std::memory_order_acquire) == RawSyscall(SYS_getpid); }

template <typename Reached>
bool WaitUntil(std::atomic<uint32_t>* word, uint64_t timeout_ns, Reached reached) noexcept {
  const uint64_t deadline_ns = MonotonicNs() + timeout_ns;
  for (;;) {
    const uint32_t value = word->load(std::memory_order_acquire);
    const uint64_t now_ns = MonotonicNs();
    if (reached(value)) return true;
    if (now_ns >= deadline_ns) return false;
    Wait(word, value, deadline_ns - now_ns);
  }
}

void* Keeper(void*) noexcept {
  ++t_local.inside;  // for good
  g_keeper.store(pthread_self(), std::memory_order_relaxed);
  RawSyscall(SYS_prctl, PR_SET_NAME, AsArgument("stallscope-gpu"));
  NeverPreempt();
  uint64_t counted_ns = 0;
  for (;;) {
    const uint64_t cpu_ns = ThreadCpuNs();
    AddOwnCost(cpu_ns - counted_ns);
    counted_ns = cpu_ns;
    if (g_wanted.load(std::memory_order_acquire) == 0) Wait(&g_wanted, 0, uint64_t{g_work.round_ms} * 1'000'000u);
    const uint32_t wanted = g_wanted.exchange(0, std::memory_order_acq_rel);
    if ((wanted & kFinalWanted) != 0) break;
    g_work.round(MonotonicNs());
    g_rounds.fetch_add(1, std::memory_order_release);
    Wake(&g_rounds);
  }
  g_work.final_round();
  g_finished.store(1, std::memory_order_release);
  Wake(&g_finished);
  return nullptr;
}

}  // namespace

bool StartKeeper(const KeeperWork& work) noexcept {
  if (HasKeeper() && g_finished.load(std::memory_order_acquire) == 0) return false;  // the last one still works
  g_work = work;
  g_wanted.store(0, std::memory_order_relaxed);
  g_finished.store(0, std::memory_order_relaxed);
  uint64_t all = ~((uint64_t{1} << 31) | (uint64_t{1} << 32)), before = 0;  // but the two that glibc itself needs
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, AsArgument(&all), AsArgument(&before), 8);
  pthread_t thread;
  auto* create = STALLSCOPE_REAL(pthread_create);
  const bool created = create != nullptr && create(&thread, nullptr, Keeper, nullptr) == 0;
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, AsArgument(&before), 0, 8);
  if (created) {
    pthread_detach(thread);
    g_keeper_pid.store(static_cast<int32_t>(RawSyscall(SYS_getpid)), std::memory_order_release);
  }
  return created;
}

void WakeKeeper() noexcept {
  g_wanted.fetch_or(kRoundWanted, std::memory_order_release);
  Wake(&g_wanted);
}

bool IsKeeper() noexcept {
  return g_keeper_pid.load(std::memory_order_relaxed) != 0 &&
         pthread_equal(g_keeper.load(std::memory_order_relaxed), pthread_self()) != 0;
}

bool RunKeeperRound(uint64_t timeout_ns) noexcept {
  if (!HasKeeper() || g_finished.load(std::memory_order_acquire) != 0) return true;
  // The round that runs now may have begun too early; the one after it has not.
  const uint32_t begin = g_rounds.load(std::memory_order_acquire);
  return WaitUntil(&g_rounds, timeout_ns, [begin](uint32_t rounds) {
    if (rounds - begin >= 2) return true;
    WakeKeeper();
    return false;
  });
}

bool FinishKeeper(uint64_t timeout_ns) noexcept {
  if (!HasKeeper()) return true;
  g_wanted.fetch_or(kFinalWanted, std::memory_order_release);
  Wake(&g_wanted);
  return WaitUntil(&g_finished, timeout_ns, [](uint32_t finished) { return finished != 0; });
}

}  // namespace stallscope::agent
