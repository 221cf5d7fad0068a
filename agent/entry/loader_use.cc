#include "agent/entry/loader_use.h"

#include <atomic>

#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kForkWaitsNs = 1'000'000'000;
// The fork of a process of hundreds of gigabytes takes a second. One that was left by a jump never ends.
constexpr uint64_t kLongestForkNs = 5'000'000'000;

// One word, so that neither side can miss the other: uses in the low half, forks in the high one.
constexpr uint64_t kOneUse = 1, kOneFork = uint64_t{1} << 32;
constinit std::atomic<uint64_t> g_word{0};
// The last fork: when it began, in which process and thread.
constinit std::atomic<uint64_t> g_fork_ns{0}, g_forking_thread{0};

uint64_t ThisThread() noexcept {
  return static_cast<uint64_t>(RawSyscall(SYS_getpid)) << 32 | static_cast<uint64_t>(RawSyscall(SYS_gettid));
}

// False: the fork is over or of no account here. In a signal handler of the thread that forks and in the handlers that fork itself
// runs, of which some are the child's, nobody could end it.
bool ForkGoesOn() noexcept {
  const uint64_t forking = g_forking_thread.load(), here = ThisThread();
  return forking != here && forking >> 32 == here >> 32 && MonotonicNs() - g_fork_ns.load() < kLongestForkNs;
}

uint32_t UsesOf(uint64_t word) noexcept { return static_cast<uint32_t>(word); }
uint32_t ForksOf(uint64_t word) noexcept { return static_cast<uint32_t>(word >> 32); }

void Pause() noexcept {
  const struct { long seconds, ns; } briefly = {0, 20'000};
  RawSyscall(SYS_nanosleep, AsArgument(&briefly));
}

}  // namespace

LoaderUse::LoaderUse() noexcept {
  uint64_t word = g_word.load();
  for (;;) {
    // Somebody is in already: the fork waits anyway, perhaps for this very thread.
    const bool may_enter = ForksOf(word) == 0 || UsesOf(word) != 0 || !ForkGoesOn();
    if (may_enter && g_word.compare_exchange_weak(word, word + kOneUse)) return;
    if (!may_enter) {
      Pause();
      word = g_word.load();
    }
  }
}

LoaderUse::~LoaderUse() {
  // A child that was forked behind the hooks' back may have found nobody in.
  uint64_t word = g_word.load();
  while (UsesOf(word) != 0 && !g_word.compare_exchange_weak(word, word - kOneUse)) {
  }
}

LoaderLeftAlone::LoaderLeftAlone() noexcept {
  const uint64_t begin_ns = MonotonicNs();
  g_fork_ns.store(begin_ns);
  g_forking_thread.store(ThisThread());
  uint64_t word = g_word.fetch_add(kOneFork) + kOneFork;
  while (UsesOf(word) != 0 && MonotonicNs() - begin_ns < kForkWaitsNs) {
    Pause();
    word = g_word.load();
  }
}

LoaderLeftAlone::~LoaderLeftAlone() {
  if (!in_child_) g_word.fetch_sub(kOneFork);
}

void LoaderLeftAlone::InChild() noexcept {
  in_child_ = true;
  g_word.store(0);
}

}  // namespace stallscope::agent
