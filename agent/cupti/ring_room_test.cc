#include "agent/cupti/ring_room.h"

#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"
#include "agent/hot/process_state.h"

namespace stallscope::agent {

std::atomic<uint32_t> g_bell{kBellSilenced};

namespace {

constexpr uint64_t kRing = 1024, kSecond = 1'000'000'000;

// This thread with a ring of 1024 records. The clock moves by 60 ms at each reading: two looks are the longest wait.
class RingRoom : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    now_ += 10 * kSecond;  // what an earlier test found out is forgotten
    Fake().ticks = now_;
    Fake().ticks_per_reading = kSecond / 1000 * 60;
    state_.slot = &slot_;
    state_.ring_mask = kRing - 1;
    t_local.state = &state_;
    g_bell = kBellWaits;
  }
  void TearDown() override {
    t_local.state = nullptr;
    now_ = Fake().ticks;
  }
  void Fill(uint64_t head, uint64_t drained) {
    slot_.head = head;
    slot_.drained = drained;
  }
  bool Waited() const { return Fake().ticks > now_ + Fake().ticks_per_reading; }

  static inline uint64_t now_ = 0;
  wire::ThreadSlot slot_{};
  ThreadState state_{};
};

TEST_F(RingRoom, EnoughOfIt_IsFoundWithoutAskingTheClock) {
  Fill(5000, 4000);
  WaitForRingRoom(24);
  EXPECT_EQ(Fake().ticks, now_);
  EXPECT_EQ(g_bell, kBellWaits);
}

TEST_F(RingRoom, AFullRing_RingsAndWaitsForTheLongestTimeAtMost) {
  Fill(5000, 4000);
  WaitForRingRoom(25);
  EXPECT_TRUE(Waited());
  EXPECT_LE(Fake().ticks - now_, kSecond / 10 * 4);
  EXPECT_EQ(g_bell, kBellRung);
}

TEST_F(RingRoom, WithoutAReader_IsNotWaitedForAgainForASecond) {
  Fill(5000, 4000);
  WaitForRingRoom(100);
  const uint64_t after_first = Fake().ticks;
  WaitForRingRoom(100);
  EXPECT_EQ(Fake().ticks, after_first + Fake().ticks_per_reading);  // one look at the clock
  Fake().ticks += kSecond;
  WaitForRingRoom(100);
  EXPECT_GT(Fake().ticks, after_first + kSecond + 2 * Fake().ticks_per_reading);
}

TEST_F(RingRoom, MoreThanARingHolds_IsWaitedForAsOneRingful) {
  Fill(5000, 5000);
  WaitForRingRoom(10 * kRing);
  EXPECT_EQ(Fake().ticks, now_);
}

// Silenced means that nobody listens: a bell that is up again would have every thread take a big ring.
TEST_F(RingRoom, ASilencedBell_StaysSilenced) {
  g_bell = kBellSilenced;
  Fill(5000, 4000);
  WaitForRingRoom(100);
  EXPECT_EQ(g_bell, kBellSilenced);
}

TEST_F(RingRoom, AThreadWithoutARing_DoesNotWait) {
  t_local.state = nullptr;
  WaitForRingRoom(1);
  EXPECT_EQ(Fake().ticks, now_);
}

}  // namespace
}  // namespace stallscope::agent
