#include "agent/hot/clock.h"

#include <time.h>

#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kShift = 32;
constexpr uint64_t kFirstSpanNs = 100'000;
// The rate is taken over the last 10 to 20 s, so that it follows what NTP does to CLOCK_MONOTONIC.
constexpr uint64_t kSpanNs = 10'000'000'000;

// The pair the rate is measured from, and the one that replaces it when it gets too old. Guarded by the calibration's
// version.
constinit ClockPair g_anchor = {};
constinit ClockPair g_next_anchor = {};
constinit bool g_doubtful = false;

void Publish(wire::ClockCalibration* clock, const ClockPair& base, uint64_t mult) noexcept {
  clock->base_ticks = base.ticks;
  clock->base_ns = base.ns;
  clock->mult = mult;
  clock->shift = kShift;
  clock->uncertainty_ns = static_cast<uint32_t>(base.uncertainty_ns);
}

void RefreshRealtimeOffset() noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t realtime_ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  g_realtime_offset_ns.store(realtime_ns - static_cast<int64_t>(MonotonicNs()), std::memory_order_relaxed);
}

// ns per tick, times 2^kShift.
uint64_t Rate(const ClockPair& from, const ClockPair& to) noexcept {
  if (to.ticks == from.ticks) return uint64_t{1} << kShift;
  const double ratio = static_cast<double>(to.ns - from.ns) / static_cast<double>(to.ticks - from.ticks);
  return static_cast<uint64_t>(ratio * static_cast<double>(uint64_t{1} << kShift));
}

// After a suspend the TSC has run on (or begun anew) and CLOCK_MONOTONIC has not: no rate can be made of that.
bool Plausible(uint64_t rate, uint64_t before) noexcept {
  const uint64_t difference = rate > before ? rate - before : before - rate;
  return difference < before / 500;
}

// Where the TSC is not used, ticks are nanoseconds.
ClockPair NanosecondPair() noexcept {
  const uint64_t now_ns = MonotonicNs();
  return {now_ns, now_ns, 1};
}

}  // namespace

constinit std::atomic<int64_t> g_realtime_offset_ns{0};

uint64_t MonotonicNs() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);  // vDSO; never fails for this clock, so errno stays
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t Ticks() noexcept { return FastTicks(); }

uint64_t WaitThresholdTicks() noexcept {
  return (g_header->wait_threshold_ns.load(std::memory_order_relaxed) *
          g_ticks_per_ns_q20.load(std::memory_order_relaxed)) >>
         20;
}

ClockPair SampleClock() noexcept {
  ClockPair best = {0, 0, ~uint64_t{0}};
  for (int attempt = 0; attempt < 5; ++attempt) {
    const uint64_t before = FastTicks();
    const uint64_t ns = MonotonicNs();
    const uint64_t after = FastTicks();
    if (after - before < best.uncertainty_ns) best = {before + (after - before) / 2, ns, after - before};
  }
  best.uncertainty_ns = (best.uncertainty_ns << 20) / g_ticks_per_ns_q20.load(std::memory_order_relaxed) / 2 + 1;
  return best;
}

void StartClock(wire::Header* header, bool use_tsc) noexcept {
  g_use_tsc = use_tsc;
  RefreshRealtimeOffset();
  wire::ClockCalibration* clock = &header->clock;
  clock->kind = static_cast<uint32_t>(use_tsc ? wire::ClockKind::kTsc : wire::ClockKind::kMonotonicNs);
  if (!use_tsc) {
    g_ticks_per_ns_q20.store(1u << 20, std::memory_order_relaxed);
    Publish(clock, NanosecondPair(), uint64_t{1} << kShift);
    return;
  }
  if (g_anchor.ns != 0) {  // a forked child: the parent's rate holds here too
    const ClockPair inherited = SampleClock();
    Publish(clock, inherited, (uint64_t{1} << (kShift + 20)) / g_ticks_per_ns_q20.load(std::memory_order_relaxed));
    return;
  }
  g_anchor = SampleClock();
  ClockPair now = SampleClock();
  // A rate from a short span is good to some 300 ppm; the first refresh makes it good. Records are converted after
  // that.
  while (now.ns - g_anchor.ns < kFirstSpanNs) now = SampleClock();
  const uint64_t rate = Rate(g_anchor, now);
  g_ticks_per_ns_q20.store((uint64_t{1} << (kShift + 20)) / rate, std::memory_order_relaxed);
  g_next_anchor = g_anchor;
  Publish(clock, now, rate);
}

void RefreshClock(wire::Header* header) noexcept {
  RefreshRealtimeOffset();
  wire::ClockCalibration* clock = &header->clock;
  uint32_t version = clock->version.load(std::memory_order_relaxed);
  if ((version & 1) != 0 || !clock->version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) {
    return;
  }
  std::atomic_thread_fence(std::memory_order_release);
  if (g_use_tsc) {
    const ClockPair now = SampleClock();
    if (now.ns - g_next_anchor.ns > kSpanNs) {
      g_anchor = g_next_anchor;
      g_next_anchor = now;
    }
    uint64_t rate = now.ns - g_anchor.ns >= kFirstSpanNs ? Rate(g_anchor, now) : clock->mult;
    // Either this rate is wrong or the one before: measure from here, and believe that.
    g_doubtful = !g_doubtful && !Plausible(rate, clock->mult);
    if (g_doubtful) {
      rate = clock->mult;
      g_anchor = g_next_anchor = now;
    }
    g_ticks_per_ns_q20.store((uint64_t{1} << (kShift + 20)) / rate, std::memory_order_relaxed);
    Publish(clock, now, rate);
  } else {
    Publish(clock, NanosecondPair(), uint64_t{1} << kShift);
  }
  clock->version.store(version + 2, std::memory_order_release);
}

uint64_t TicksToNs(const wire::Header* header, uint64_t ticks) noexcept {
  const wire::ClockCalibration& clock = header->clock;
  const auto delta = static_cast<__int128>(static_cast<int64_t>(ticks - clock.base_ticks));
  return clock.base_ns + static_cast<uint64_t>(static_cast<int64_t>((delta * clock.mult) >> clock.shift));
}

}  // namespace stallscope::agent
