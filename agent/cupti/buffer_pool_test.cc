#include "agent/cupti/buffer_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace stallscope::agent {
namespace {

TEST(BufferPool, Take_GivesEachBufferOnceThenTheDiscardBuffer) {
  BufferPool pool;
  ASSERT_TRUE(pool.Map());
  std::set<uint8_t*> taken;
  for (uint32_t i = 0; i < BufferPool::kBuffers; ++i) {
    uint8_t* buffer = pool.Take();
    EXPECT_TRUE(pool.Owns(buffer));
    EXPECT_TRUE(taken.insert(buffer).second);
  }
  EXPECT_EQ(pool.Outstanding(), BufferPool::kBuffers);
  uint8_t* discard = pool.Take();
  ASSERT_NE(discard, nullptr);
  EXPECT_FALSE(pool.Owns(discard));
  EXPECT_EQ(pool.Take(), discard);
  discard[BufferPool::kBufferBytes - 1] = 1;  // all of it is memory
}

TEST(BufferPool, ReturnedBuffer_ComesBackZeroed) {
  BufferPool pool;
  ASSERT_TRUE(pool.Map());
  uint8_t* buffer = pool.Take();
  buffer[0] = buffer[BufferPool::kBufferBytes - 1] = 0xff;
  pool.Return(buffer);
  EXPECT_EQ(pool.Outstanding(), 0u);
  ASSERT_EQ(pool.Take(), buffer);
  EXPECT_EQ(buffer[0], 0);
  EXPECT_EQ(buffer[BufferPool::kBufferBytes - 1], 0);
}

TEST(BufferPool, NewTurn_DoesNotWaitForBuffersThatAnotherClientGot) {
  BufferPool pool;
  ASSERT_TRUE(pool.Map());
  uint8_t* lost = pool.Take();
  EXPECT_EQ(pool.Outstanding(), 1u);
  pool.BeginTurn();
  EXPECT_EQ(pool.Outstanding(), 0u);
  uint8_t* buffer = pool.Take();
  EXPECT_NE(buffer, lost);
  EXPECT_EQ(pool.Outstanding(), 1u);
  EXPECT_TRUE(pool.Owns(lost));
  pool.Return(lost);  // late, and welcome
  EXPECT_EQ(pool.Outstanding(), 1u);
  pool.Return(buffer);
  EXPECT_EQ(pool.Outstanding(), 0u);
}

TEST(BufferPool, ManyTurnsThatEachLoseABuffer_GoOnWithinTheSameMemory) {
  BufferPool pool;
  ASSERT_TRUE(pool.Map());
  for (int turn = 0; turn < 100; ++turn) {
    pool.BeginTurn();
    EXPECT_EQ(pool.Outstanding(), 0u);
    uint8_t* buffer = pool.Take();
    ASSERT_TRUE(pool.Owns(buffer)) << turn;
    if (turn >= 20) pool.Return(buffer);
  }
  EXPECT_EQ(pool.discarded(), 0u);
}

TEST(BufferPool, ForeignMemory_IsNotOwned) {
  BufferPool pool;
  ASSERT_TRUE(pool.Map());
  uint8_t local = 0;
  EXPECT_FALSE(pool.Owns(&local));
  EXPECT_FALSE(pool.Owns(pool.Take() + 8));
}

}  // namespace
}  // namespace stallscope::agent
