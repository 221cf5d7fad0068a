#include "tests/simgpu/cupti/stamp.h"

#include <time.h>

#include <atomic>

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/faults.h"

namespace simgpu::cupti {
namespace {

constexpr uint64_t kMeasureEveryNs = 100'000'000;
constexpr uint64_t kJumpNs = 3'600'000'000'000;
constexpr int64_t kSameClockNs = 2000;    // below this the client's clock is ours
constexpr uint64_t kRateBaseNs = 50'000;  // between the two readings that tell how fast a client's clock runs
constexpr double kSameRate = 0.01;        // closer than this it runs in nanoseconds
constexpr double kRateError = 0.005;      // a thread that loses its core between two readings measures nonsense
constexpr int kRateAttempts = 50;

std::atomic<TimestampCallback> timestamp_callback{nullptr};
std::atomic<int64_t> offset_ns{0};
std::atomic<uint64_t> measured_at_ns{0};  // 0: never
// A clock in other units (cycles): read when it was registered, and how fast it ran then. 1: nanoseconds.
std::atomic<double> clock_rate{1};
std::atomic<uint64_t> registered_at_ns{0}, registered_stamp{0};

struct Reading {
  uint64_t simulated_ns, stamp_ns;
  uint64_t width_ns;  // the stamp was taken somewhere within
};

// Brackets one stamp between two readings of the simulation's clock; the narrowest of a few wins.
Reading ReadBothClocks() {
  const Clock& clock = Simulator::Get().clock();
  uint64_t narrowest_ns = ~uint64_t{0};
  Reading reading = {};
  for (int i = 0; i < 5; ++i) {
    const uint64_t before_ns = clock.SharedNowNs();
    const uint64_t stamp_ns = StampNow();
    const uint64_t after_ns = clock.SharedNowNs();
    if (after_ns - before_ns >= narrowest_ns) continue;
    narrowest_ns = after_ns - before_ns;
    reading = {before_ns + narrowest_ns / 2, stamp_ns, narrowest_ns};
  }
  return reading;
}

int64_t MeasureOffset() {
  const Reading reading = ReadBothClocks();
  const int64_t offset = static_cast<int64_t>(reading.stamp_ns) - static_cast<int64_t>(reading.simulated_ns);
  return offset > -kSameClockNs && offset < kSameClockNs ? 0 : offset;
}

double RateBetween(const Reading& from, const Reading& to) {
  if (to.simulated_ns <= from.simulated_ns || to.stamp_ns <= from.stamp_ns) return 1;
  return static_cast<double>(to.stamp_ns - from.stamp_ns) / static_cast<double>(to.simulated_ns - from.simulated_ns);
}

uint64_t HostNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The real library takes readings of both clocks now and then and lays a line through them, so that any unit will do.
void MeasureRate() {
  Reading first = {};
  double rate = 1;
  for (int attempt = 0; attempt < kRateAttempts; ++attempt) {
    first = ReadBothClocks();
    for (const uint64_t begin_ns = HostNs(); HostNs() - begin_ns < kRateBaseNs;) {
    }
    const Reading second = ReadBothClocks();
    rate = RateBetween(first, second);
    const double error = static_cast<double>(first.width_ns + second.width_ns) / static_cast<double>(kRateBaseNs);
    if (error < kRateError) break;
    if (rate > 1 - kSameRate - error && rate < 1 + kSameRate + error) rate = 1;
  }
  registered_at_ns.store(first.simulated_ns);
  registered_stamp.store(first.stamp_ns);
  clock_rate.store(rate > 1 - kSameRate && rate < 1 + kSameRate ? 1 : rate, std::memory_order_release);
}

// The fault: from the n-th stamp on the clock is an hour ahead, as after a step of the wall clock.
uint64_t Jump() {
  if (!FaultOn(Fault::kClockJump)) return 0;
  static std::atomic<uint64_t> stamps{0};
  const uint64_t stamp = stamps.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint64_t at = ActiveFaults().Parameter(Fault::kClockJump);
  if (stamp < at) return 0;
  if (stamp == at) measured_at_ns.store(0, std::memory_order_release);
  return kJumpNs;
}

}  // namespace

void SetTimestampCallback(TimestampCallback callback) {
  timestamp_callback.store(callback, std::memory_order_release);
  MeasureRate();
  measured_at_ns.store(0, std::memory_order_release);
}

uint64_t StampNow() {
  if (TimestampCallback callback = timestamp_callback.load(std::memory_order_acquire)) return callback() + Jump();
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) + Jump();
}

uint64_t StampScale::Of(uint64_t simulated_ns) const {
  if (rate == 1) return simulated_ns + stamp_ns - base_ns;
  const auto since = static_cast<double>(static_cast<int64_t>(simulated_ns - base_ns));
  return stamp_ns + static_cast<uint64_t>(static_cast<int64_t>(since * rate));
}

uint64_t StampOf(uint64_t simulated_ns) { return CurrentScale().Of(simulated_ns); }

StampScale CurrentScale() {
  const double rate = clock_rate.load(std::memory_order_acquire);
  if (rate != 1) {
    const Reading now = ReadBothClocks();
    const double since = RateBetween({registered_at_ns.load(), registered_stamp.load(), 0}, now);
    const bool steady = since > rate * (1 - kSameRate) && since < rate * (1 + kSameRate);
    return {now.simulated_ns, now.stamp_ns, steady ? since : rate};
  }
  const uint64_t now_ns = Simulator::Get().clock().SharedNowNs();
  const uint64_t measured_ns = measured_at_ns.load(std::memory_order_acquire);
  if (measured_ns == 0 || now_ns - measured_ns > kMeasureEveryNs) {
    offset_ns.store(MeasureOffset(), std::memory_order_relaxed);
    measured_at_ns.store(now_ns, std::memory_order_release);
  }
  return {0, static_cast<uint64_t>(offset_ns.load(std::memory_order_relaxed)), 1};
}

}  // namespace simgpu::cupti
