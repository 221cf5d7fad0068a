#include "agent/hot/clock.h"

#include <memory>

#include "agent/hot/process_state.h"
#include "gtest/gtest.h"

namespace stallscope::agent {
namespace {

TEST(Clock, MonotonicKind_ConvertsToItself) {
  auto header = std::make_unique<wire::Header>();
  StartClock(header.get(), /*use_tsc=*/false);
  EXPECT_EQ(header->clock.kind, static_cast<uint32_t>(wire::ClockKind::kMonotonicNs));
  EXPECT_EQ(TicksToNs(header.get(), 123'456'789'012'345), 123'456'789'012'345u);
}

TEST(Clock, TicksBeforeTheBase_ConvertToEarlierTimes) {
  auto header = std::make_unique<wire::Header>();
  header->clock.base_ticks = 1'000'000;
  header->clock.base_ns = 5'000'000;
  header->clock.mult = uint64_t{1} << 31;  // half a nanosecond a tick
  header->clock.shift = 32;
  EXPECT_EQ(TicksToNs(header.get(), 1'000'200), 5'000'100u);
  EXPECT_EQ(TicksToNs(header.get(), 999'800), 4'999'900u);
}

// The reading of both clocks brackets the conversion, so this holds on any machine at any load.
TEST(Clock, Tsc_LiesBetweenTheMonotonicReadingsAroundIt) {
  auto header = std::make_unique<wire::Header>();
  StartClock(header.get(), /*use_tsc=*/true);
  RefreshClock(header.get());
  const int64_t margin_ns = 2'000 + header->clock.uncertainty_ns;
  for (int i = 0; i < 1000; ++i) {
    const auto before_ns = static_cast<int64_t>(MonotonicNs());
    const uint64_t ticks = FastTicks();
    const auto after_ns = static_cast<int64_t>(MonotonicNs());
    const auto converted_ns = static_cast<int64_t>(TicksToNs(header.get(), ticks));
    ASSERT_GE(converted_ns, before_ns - margin_ns);
    ASSERT_LE(converted_ns, after_ns + margin_ns);
  }
  StartClock(header.get(), /*use_tsc=*/false);
}

TEST(Clock, Refresh_LeavesAnEvenVersion) {
  auto header = std::make_unique<wire::Header>();
  StartClock(header.get(), /*use_tsc=*/true);
  RefreshClock(header.get());
  EXPECT_EQ(header->clock.version.load() % 2, 0u);
  StartClock(header.get(), /*use_tsc=*/false);
}

}  // namespace
}  // namespace stallscope::agent
