#include "agent/hot/clock.h"

#include <time.h>

#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kShift = 32;
constexpr uint64_t kFirstSpanNs = 100'000;
constexpr uint64_t kLongestSpanNs = 3'000'000'000;  // (span_ns << kShift) must fit into 64 bits

// The pair the rate is measured from, and the one that replaces it when it gets too old. Guarded by the calibration's
// version.
constinit ClockPair g_anchor = {};
constinit ClockPair g_next_anchor = {};

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
  const uint64_t ticks = to.ticks - from.ticks;
  return ticks == 0 ? uint64_t{1} << kShift : ((to.ns - from.ns) << kShift) / ticks;
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
    Publish(clock, {0, 0, 1}, uint64_t{1} << kShift);
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
  g_next_anchor = now;
  Publish(clock, now, rate);
}

void RefreshClock(wire::Header* header) noexcept {
  RefreshRealtimeOffset();
  if (!g_use_tsc) return;
  wire::ClockCalibration* clock = &header->clock;
  uint32_t version = clock->version.load(std::memory_order_relaxed);
  if ((version & 1) != 0 || !clock->version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) {
    return;
  }
  std::atomic_thread_fence(std::memory_order_release);
  const ClockPair now = SampleClock();
  if (now.ns - g_anchor.ns > kLongestSpanNs) {
    // The process slept long (SIGSTOP, suspend, or no refresh for a while): start from the newest pair that fits.
    if (now.ns - g_next_anchor.ns <= kLongestSpanNs) {
      g_anchor = g_next_anchor;
    } else {
      g_anchor = now;
    }
    g_next_anchor = now;
  } else if (now.ns - g_next_anchor.ns > kLongestSpanNs / 2 || g_next_anchor.ns < g_anchor.ns) {
    g_anchor = g_next_anchor;
    g_next_anchor = now;
  }
  const bool long_enough = now.ns - g_anchor.ns >= kFirstSpanNs;
  const uint64_t rate = long_enough ? Rate(g_anchor, now) : clock->mult;
  g_ticks_per_ns_q20.store((uint64_t{1} << (kShift + 20)) / (rate == 0 ? 1 : rate), std::memory_order_relaxed);
  Publish(clock, now, rate);
  clock->version.store(version + 2, std::memory_order_release);
}

uint64_t TicksToNs(const wire::Header* header, uint64_t ticks) noexcept {
  const wire::ClockCalibration& clock = header->clock;
  const auto delta = static_cast<__int128>(static_cast<int64_t>(ticks - clock.base_ticks));
  return clock.base_ns + static_cast<uint64_t>(static_cast<int64_t>((delta * clock.mult) >> clock.shift));
}

}  // namespace stallscope::agent
