#include "agent/nvtx/previous_tool.h"

#include <gtest/gtest.h>

#include <memory>

#include "agent/cuda/fake_agent.h"

namespace stallscope::agent {
namespace {

TEST(PreviousHandles, ManyHandles_AreKeptApartAndForgotten) {
  static PreviousHandles handles;
  for (uint64_t i = 1; i <= 2000; ++i) handles.Add(i * 4096, i);
  for (uint64_t i = 1; i <= 2000; ++i) EXPECT_EQ(handles.Of(i * 4096), i);
  EXPECT_EQ(handles.Take(4096), 1u);
  EXPECT_EQ(handles.Of(4096), 0u);
  EXPECT_EQ(handles.Of(0), 0u);
  EXPECT_EQ(handles.Of(5), 0u);
}

TEST(PreviousHandles, ANewMeaning_ReplacesTheOld) {
  const auto handles = std::make_unique<PreviousHandles>();
  handles->Add(4711, 1);
  handles->Add(4711, 2);
  EXPECT_EQ(handles->Of(4711), 2u);
  EXPECT_EQ(handles->Take(4711), 2u);
  EXPECT_EQ(handles->Take(4711), 0u);
}

// Handles that share their first place in the table: one that is taken makes room in front of another.
TEST(PreviousHandles, OneAddedAgainAfterRoomWasMadeBeforeIt_IsForgottenWhole) {
  uint64_t first = 0, second = 0;
  for (uint64_t other = 2; second == 0; ++other) {
    const auto place = [](uint64_t theirs) {
      return static_cast<uint32_t>((theirs * 0x9e3779b97f4a7c15u) >> 32) % 4096;
    };
    if (place(other) == place(1)) first = 1, second = other;  // as in previous_tool.h
  }
  const auto handles = std::make_unique<PreviousHandles>();
  handles->Add(first, 10);
  handles->Add(second, 20);
  EXPECT_EQ(handles->Take(first), 10u);
  handles->Add(second, 21);
  EXPECT_EQ(handles->Of(second), 21u);
  EXPECT_EQ(handles->Take(second), 21u);
  EXPECT_EQ(handles->Of(second), 0u);
}

TEST(PreviousHandles, AFullTable_ForgetsAndCounts) {
  ResetFake();
  const auto handles = std::make_unique<PreviousHandles>();
  for (uint64_t theirs = 1; theirs <= 6000; ++theirs) handles->Add(theirs, theirs);
  EXPECT_GE(Fake().CountOf(wire::Counter::kInternal), 6000u - 4096u);
  uint64_t known = 0;
  for (uint64_t theirs = 1; theirs <= 6000; ++theirs) {
    const uint64_t ours = handles->Of(theirs);
    EXPECT_TRUE(ours == 0 || ours == theirs) << theirs;
    known += ours != 0;
  }
  EXPECT_EQ(known, 6000 - Fake().CountOf(wire::Counter::kInternal));
}

}  // namespace
}  // namespace stallscope::agent
