#include "agent/cupti/library_clock.h"

#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kAhead = 1'000'000;

CUptiResult Ahead(uint64_t* now) {
  *now = Fake().ticks + kAhead;
  return CUPTI_SUCCESS;
}

// The first reading takes long, as the first call of a library does: the offset it would give is off by half of that.
CUptiResult SlowAtFirst(uint64_t* now) {
  static int calls = 0;
  *now = Fake().ticks + kAhead;
  if (calls++ == 0) Fake().ticks += 500'000;
  return CUPTI_SUCCESS;
}

CUptiResult Fails(uint64_t*) { return CUPTI_ERROR_UNKNOWN; }

int64_t OffsetOf(CUptiResult (*clock)(uint64_t*)) {
  CuptiInterface cupti;
  cupti.functions.cuptiGetTimestamp = clock;
  return LibraryClockOffset(&cupti);
}

TEST(LibraryClock, ClockAhead_GivesANegativeOffset) {
  ResetFake();
  EXPECT_NEAR(static_cast<double>(OffsetOf(Ahead)), -static_cast<double>(kAhead), 4);
}

TEST(LibraryClock, SlowReading_IsNotUsed) {
  ResetFake();
  EXPECT_NEAR(static_cast<double>(OffsetOf(SlowAtFirst)), -static_cast<double>(kAhead), 4);
}

TEST(LibraryClock, ClockThatFails_ShiftsNothing) { EXPECT_EQ(OffsetOf(Fails), 0); }

}  // namespace
}  // namespace stallscope::agent
