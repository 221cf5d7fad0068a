#include "agent/stream/ring_reader.h"

#include <memory>

#include "gtest/gtest.h"

namespace stallscope::agent {
namespace {

class RingReaderTest : public testing::Test {
 protected:
  static constexpr uint64_t kRing = 8;

  void Write(uint64_t index) {
    wire::Record& record = ring_[index % kRing];
    record.begin = index;
    record.sequence = index + 1;
    if (slot_.head < index + 1) slot_.head = index + 1;
  }
  void Begin(uint64_t index) {
    ring_[index % kRing].sequence = 0;
    slot_.head = index + 1;
  }
  ReadResult Read(uint64_t from, bool give_up = false, uint32_t capacity = 32) {
    return ReadRing(slot_, ring_, kRing, from, give_up, out_, capacity);
  }

  wire::ThreadSlot slot_ = {};
  wire::Record ring_[kRing] = {};
  PlainRecord out_[32];
};

TEST_F(RingReaderTest, Empty_ReadsNothing) {
  const ReadResult read = Read(0);
  EXPECT_EQ(read.count, 0u);
  EXPECT_EQ(read.first, 0u);
  EXPECT_EQ(read.lost, 0u);
  EXPECT_FALSE(read.blocked);
}

TEST_F(RingReaderTest, Complete_ReadsInOrder) {
  for (uint64_t i = 0; i < 5; ++i) Write(i);
  const ReadResult read = Read(2);
  EXPECT_EQ(read.first, 2u);
  ASSERT_EQ(read.count, 3u);
  EXPECT_EQ(out_[0].begin, 2u);
  EXPECT_EQ(out_[2].begin, 4u);
}

TEST_F(RingReaderTest, CapacityReached_StopsThere) {
  for (uint64_t i = 0; i < 5; ++i) Write(i);
  EXPECT_EQ(Read(0, false, 2).count, 2u);
}

TEST_F(RingReaderTest, Overwritten_CountsEachLostIndexOnce) {
  for (uint64_t i = 0; i < 20; ++i) Write(i);
  const ReadResult read = Read(3);
  EXPECT_EQ(read.lost, 9u);  // 3 to 11
  EXPECT_EQ(read.first, 12u);
  EXPECT_EQ(read.count, 8u);
}

TEST_F(RingReaderTest, UnfinishedWithLaterOnes_IsBlocked) {
  Write(0);
  Begin(1);
  Write(2);
  const ReadResult read = Read(0);
  EXPECT_EQ(read.count, 1u);
  EXPECT_TRUE(read.blocked);
}

TEST_F(RingReaderTest, UnfinishedNewest_IsNotBlockedButInProgress) {
  Write(0);
  Begin(1);
  const ReadResult read = Read(1);
  EXPECT_EQ(read.count, 0u);
  EXPECT_EQ(read.lost, 0u);
  EXPECT_FALSE(read.blocked);
}

TEST_F(RingReaderTest, GiveUp_SkipsOneUnfinishedRecordAndCountsIt) {
  Begin(0);
  Write(1);
  const ReadResult read = Read(0, /*give_up=*/true);
  EXPECT_EQ(read.lost, 1u);
  EXPECT_EQ(read.first, 1u);
  EXPECT_EQ(read.count, 1u);
}

TEST_F(RingReaderTest, GapInTheMiddle_EndsTheBatchBeforeIt) {
  for (uint64_t i = 0; i < 4; ++i) Write(i);
  ring_[2].sequence = 2 + kRing + 1;  // index 10 took its place; the head is not visible yet
  const ReadResult before = Read(0);
  EXPECT_EQ(before.count, 2u);
  const ReadResult after = Read(2);
  EXPECT_EQ(after.lost, 1u);
  EXPECT_EQ(after.first, 3u);
  EXPECT_EQ(after.count, 1u);
}

}  // namespace
}  // namespace stallscope::agent
