#include "collector/timeline/poll_partners.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

constexpr uint64_t kEventFd = 12, kOtherFd = 13, kSet = 7, kOtherSet = 8;
constexpr ThreadIndex kWriter = 1, kPoller = 2;

Call Write(HostNs begin, uint64_t descriptor, int32_t bytes = 8) {
  Call call;
  call.begin = begin, call.end = begin + 5, call.object = descriptor, call.result = bytes;
  call.call = static_cast<uint16_t>(wire::OsCall::kWrite);
  return call;
}
Call Poll(HostNs begin, HostNs end, uint64_t set = kSet, int32_t ready = 1) {
  Call call;
  call.begin = begin, call.end = end, call.object = set, call.result = ready;
  call.call = static_cast<uint16_t>(wire::OsCall::kEpollWait);
  return call;
}

class PollPartnersTest : public testing::Test {
 protected:
  // A write that falls into a poll, as ended: first the write, then the poll.
  void Coincide(uint64_t descriptor = kEventFd, uint64_t set = kSet) {
    now_ += 1'000;
    partners_.OnWrite(kWriter, Write(now_ + 100, descriptor));
    partners_.OnUnexplainedPoll(kPoller, Poll(now_, now_ + 200, set));
  }
  uint64_t SetOf(uint64_t descriptor) { return partners_.OnWrite(kWriter, Write(now_ + 900, descriptor)); }

  PollPartners partners_;
  HostNs now_ = 0;
};

TEST_F(PollPartnersTest, ThreeCoincidences_AreBelieved) {
  Coincide();
  Coincide();
  EXPECT_EQ(SetOf(kEventFd), 0u);
  Coincide();
  EXPECT_EQ(SetOf(kEventFd), kSet);
  EXPECT_EQ(SetOf(kOtherFd), 0u);
}

TEST_F(PollPartnersTest, TheLastWriteInTheWait_Counts) {
  for (int i = 0; i < 3; ++i) {
    now_ += 1'000;
    partners_.OnWrite(kWriter, Write(now_ + 50, kOtherFd));
    partners_.OnWrite(kWriter, Write(now_ + 100, kEventFd));
    partners_.OnUnexplainedPoll(kPoller, Poll(now_, now_ + 200));
  }
  EXPECT_EQ(SetOf(kEventFd), kSet);
  EXPECT_EQ(SetOf(kOtherFd), 0u);
}

TEST_F(PollPartnersTest, WritesOutsideTheWaitOrOfTheSameThread_TellNothing) {
  for (int i = 0; i < 5; ++i) {
    now_ += 1'000;
    partners_.OnWrite(kWriter, Write(now_ - 1, kEventFd));
    partners_.OnWrite(kPoller, Write(now_ + 100, kEventFd));
    partners_.OnUnexplainedPoll(kPoller, Poll(now_, now_ + 200));
  }
  EXPECT_EQ(SetOf(kEventFd), 0u);
}

// Descriptors are used again: the new owner is believed after it has come often enough.
TEST_F(PollPartnersTest, AnotherSet_TakesOverSlowly) {
  for (int i = 0; i < 3; ++i) Coincide();
  Coincide(kEventFd, kOtherSet);  // a coincidence
  Coincide();
  EXPECT_EQ(SetOf(kEventFd), kSet);
  for (int i = 0; i < 5; ++i) Coincide(kEventFd, kOtherSet);
  EXPECT_EQ(SetOf(kEventFd), kOtherSet);
}

TEST(PollPartnersCalls, OnlyWritesOfEightBytesAndPollsWithSomethingReady_AreLookedAt) {
  EXPECT_TRUE(PollPartners::IsWakeUpWrite(Write(1, kEventFd)));
  EXPECT_FALSE(PollPartners::IsWakeUpWrite(Write(1, kEventFd, 4)));
  EXPECT_FALSE(PollPartners::IsWakeUpWrite(Write(1, 0)));
  Call by_name = Write(1, kEventFd, 0);
  by_name.call = static_cast<uint16_t>(wire::OsCall::kEventfdWrite);
  EXPECT_TRUE(PollPartners::IsWakeUpWrite(by_name));
  by_name.result = -11;
  EXPECT_FALSE(PollPartners::IsWakeUpWrite(by_name));
  EXPECT_TRUE(PollPartners::IsPoll(Poll(1, 2)));
  EXPECT_FALSE(PollPartners::IsPoll(Poll(1, 2, kSet, 0)));  // timed out
  EXPECT_FALSE(PollPartners::IsPoll(Poll(1, 2, 0)));
  EXPECT_FALSE(PollPartners::IsPoll(Write(1, kEventFd)));
}

}  // namespace
}  // namespace stallscope
