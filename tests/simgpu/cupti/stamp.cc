#include "tests/simgpu/cupti/stamp.h"

#include <time.h>

#include <atomic>

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/faults.h"

namespace simgpu::cupti {
namespace {

constexpr uint64_t kMeasureEveryNs = 100'000'000;
constexpr uint64_t kJumpNs = 3'600'000'000'000;
constexpr int64_t kSameClockNs = 2000;  // below this the client's clock is ours

std::atomic<TimestampCallback> timestamp_callback{nullptr};
std::atomic<int64_t> offset_ns{0};
std::atomic<uint64_t> measured_at_ns{0};  // 0: never

// Brackets one stamp between two readings of the simulation's clock; the narrowest of a few wins.
int64_t MeasureOffset() {
  const Clock& clock = Simulator::Get().clock();
  uint64_t narrowest_ns = ~uint64_t{0};
  int64_t offset = 0;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before_ns = clock.SharedNowNs();
    const uint64_t stamp_ns = StampNow();
    const uint64_t after_ns = clock.SharedNowNs();
    if (after_ns - before_ns >= narrowest_ns) continue;
    narrowest_ns = after_ns - before_ns;
    offset = static_cast<int64_t>(stamp_ns) - static_cast<int64_t>(before_ns + narrowest_ns / 2);
  }
  return offset > -kSameClockNs && offset < kSameClockNs ? 0 : offset;
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
  measured_at_ns.store(0, std::memory_order_release);
}

uint64_t StampNow() {
  if (TimestampCallback callback = timestamp_callback.load(std::memory_order_acquire)) return callback() + Jump();
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) + Jump();
}

uint64_t StampOf(uint64_t simulated_ns) { return simulated_ns + StampOffsetNs(); }

uint64_t StampOffsetNs() {
  const uint64_t now_ns = Simulator::Get().clock().SharedNowNs();
  const uint64_t measured_ns = measured_at_ns.load(std::memory_order_acquire);
  if (measured_ns == 0 || now_ns - measured_ns > kMeasureEveryNs) {
    offset_ns.store(MeasureOffset(), std::memory_order_relaxed);
    measured_at_ns.store(now_ns, std::memory_order_release);
  }
  return static_cast<uint64_t>(offset_ns.load(std::memory_order_relaxed));
}

}  // namespace simgpu::cupti
