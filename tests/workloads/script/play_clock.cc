#include "tests/workloads/script/play_clock.h"

#include <dlfcn.h>
#include <time.h>

#include <cmath>

namespace workloads::script {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
// How far clocks of their own are kept ahead of the real one. A tracer believes a record only if its work began after the
// launch call was really made, and ended before the record is read: so the play may fall back by this much on a busy
// machine before it shows.
constexpr uint64_t kLeadNs = 100'000'000;

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

void SleepUntil(uint64_t until_ns) {
  const timespec until{static_cast<time_t>(until_ns / kNsPerSecond), static_cast<long>(until_ns % kNsPerSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

template <typename Function>
void Find(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

PlayClock::PlayClock(const PlayOptions& options) : options_(options) {
  Find("simgpu_next_begin", &next_begin_);
  Find("simgpu_next_call_duration", &next_call_duration_);
  Find("simgpu_set_thread_clock", &set_thread_clock_);
  Find("simgpu_thread_clock", &thread_clock_);
  Find("simgpu_next_duration", &next_duration_);
}

void PlayClock::Begin() { begin_ns_ = MonotonicNs() + (options_.own_clock && !options_.fast ? kLeadNs : 0); }

void PlayClock::BeginThread() const {
  if (options_.own_clock) set_thread_clock_(begin_ns_);
}

uint64_t PlayClock::NowNs() const {
  const uint64_t own_ns = options_.own_clock ? thread_clock_() : 0;
  return own_ns != 0 ? own_ns : MonotonicNs();
}

uint64_t PlayClock::Scaled(uint64_t script_ns) const {
  return options_.scale == 1 ? script_ns
                             : static_cast<uint64_t>(std::llround(static_cast<double>(script_ns) * options_.scale));
}

void PlayClock::Work(uint64_t script_ns) const {
  const uint64_t until_ns = NowNs() + Scaled(script_ns);
  if (options_.own_clock) {
    set_thread_clock_(until_ns);
    return;
  }
  while (MonotonicNs() < until_ns) {
  }
}

void PlayClock::Sleep(uint64_t script_ns) const {
  if (options_.own_clock) return Work(script_ns);
  SleepUntil(MonotonicNs() + Scaled(script_ns));
}

void PlayClock::AtLeast(uint64_t now_ns) const {
  if (options_.own_clock && thread_clock_() < now_ns) set_thread_clock_(now_ns);
}

void PlayClock::KeepPace() const {
  if (!options_.own_clock || options_.fast) return;
  const uint64_t own_ns = thread_clock_();
  if (MonotonicNs() + kLeadNs < own_ns) SleepUntil(own_ns - kLeadNs);
}

void PlayClock::GiveDuration(uint64_t script_ns) const {
  const uint64_t ns = Scaled(script_ns);
  next_duration_(ns == 0 ? 1 : ns);
}

void PlayClock::GiveCallDuration(uint64_t script_ns) const {
  if (next_call_duration_ != nullptr) next_call_duration_(Scaled(script_ns));
}

void PlayClock::GiveBegin(uint64_t script_ns) const {
  if (options_.given_begins) next_begin_(begin_ns_ + Scaled(script_ns));
}

void PlayClock::GiveBeginInGraph(uint64_t script_ns) const {
  if (options_.given_begins) next_begin_(Scaled(script_ns));
}

}  // namespace workloads::script
