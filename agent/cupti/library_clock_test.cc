#include "agent/cupti/library_clock.h"

#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// The library's clock: ours, ahead and at another rate.
uint64_t g_ahead_ns = 0, g_first_reading_takes_ns = 0;
double g_rate = 1;
bool g_fails = false;

CUptiResult Read(uint64_t* now) {
  if (g_fails) return CUPTI_ERROR_UNKNOWN;
  *now = static_cast<uint64_t>(static_cast<double>(Fake().ticks) * g_rate) + g_ahead_ns;
  Fake().ticks += g_first_reading_takes_ns;
  g_first_reading_takes_ns = 0;
  return CUPTI_SUCCESS;
}

class LibraryClocks : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    Fake().ticks = 1000 * kSecond;
    g_ahead_ns = g_first_reading_takes_ns = 0;
    g_rate = 1;
    g_fails = false;
    cupti_.functions.cuptiGetTimestamp = Read;
  }
  void MeasureFor(int seconds) {
    for (int i = 0; i < seconds * 10; ++i) {
      clock_.Measure(&cupti_);
      Fake().ticks += kSecond / 10;
    }
  }
  static uint64_t Theirs(uint64_t ours) {
    return static_cast<uint64_t>(static_cast<double>(ours) * g_rate) + g_ahead_ns;
  }
  void ExpectRight(uint64_t ours, double within_ns) {
    EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(clock_.ToMonotonic(Theirs(ours)) - ours)), 0, within_ns);
  }

  CuptiInterface cupti_;
  LibraryClock clock_;
};

TEST_F(LibraryClocks, NotMeasured_ChangesNothing) { EXPECT_EQ(clock_.ToMonotonic(12345), 12345u); }

TEST_F(LibraryClocks, ClockAhead_IsShifted) {
  g_ahead_ns = 3600 * kSecond;
  clock_.Measure(&cupti_);
  ExpectRight(999 * kSecond, 10);
  clock_.UseOwn();
  EXPECT_EQ(clock_.ToMonotonic(12345), 12345u);
}

TEST_F(LibraryClocks, SlowReading_IsNotUsed) {
  g_ahead_ns = 1'000'000;
  g_first_reading_takes_ns = 500'000;
  clock_.Measure(&cupti_);
  ExpectRight(1000 * kSecond, 10);
}

TEST_F(LibraryClocks, ClockThatFails_ShiftsNothing) {
  g_fails = true;
  clock_.Measure(&cupti_);
  EXPECT_EQ(clock_.ToMonotonic(12345), 12345u);
}

TEST_F(LibraryClocks, Drift_IsFollowed) {
  g_rate = 1.0001;  // 100 ppm: a tenth of a millisecond a second
  MeasureFor(20);
  ExpectRight(Fake().ticks - kSecond / 2, 2000);
  ExpectRight(Fake().ticks, 2000);
  EXPECT_LT(clock_.uncertainty_ns(), 2000u);
}

// As kineto registers it: a counter of cycles.
TEST_F(LibraryClocks, ClockOfOtherUnits_IsFittedWithinASecondOrTwo) {
  g_rate = 3;
  MeasureFor(5);
  ExpectRight(Fake().ticks - kSecond / 10, 5000);
}

TEST_F(LibraryClocks, WallClockSetAnHourForward_ChangesNothing) {
  g_ahead_ns = 500 * kSecond;
  MeasureFor(5);
  const uint64_t before_the_step = Fake().ticks - kSecond / 20;
  const uint64_t stamped_before = Theirs(before_the_step);
  g_ahead_ns += 3600 * kSecond;
  MeasureFor(1);
  // A record from before the step that is read after it, and one from after it.
  EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(clock_.ToMonotonic(stamped_before) - before_the_step)), 0, 2000);
  ExpectRight(Fake().ticks - kSecond / 10, 2000);
}

TEST_F(LibraryClocks, WallClockSetAnHourBack_ChangesNothing) {
  g_ahead_ns = 5000 * kSecond;
  MeasureFor(5);
  g_ahead_ns -= 3600 * kSecond;
  MeasureFor(1);
  ExpectRight(Fake().ticks - kSecond / 10, 2000);
}

}  // namespace
}  // namespace stallscope::agent
