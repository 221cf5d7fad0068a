#include "agent/cupti/takeover_watch.h"

#include <gtest/gtest.h>

namespace stallscope::agent {
namespace {

using Verdict = TakeoverWatch::Verdict;
constexpr uint64_t kSecond = 1'000'000'000;

TEST(TakeoverWatch, WorkWithoutAnyBufferAskedFor_MeansSwitchedOff) {
  TakeoverWatch watch;
  TakeoverWatch::Observed seen = {100, 5, 5, 5, 0};
  EXPECT_EQ(watch.Look(kSecond, seen), Verdict::kFine);
  seen.enqueued += 1000;
  EXPECT_EQ(watch.Look(2 * kSecond, seen), Verdict::kFine) << "records may still come";
  EXPECT_EQ(watch.Look(5 * kSecond, seen), Verdict::kSwitchedOff);
  EXPECT_EQ(watch.Look(6 * kSecond, seen), Verdict::kFine) << "said once";
  watch.Reset(seen);
  seen.enqueued += 1000;
  EXPECT_EQ(watch.Look(7 * kSecond, seen), Verdict::kFine);
  EXPECT_EQ(watch.Look(10 * kSecond, seen), Verdict::kSwitchedOff);
}

TEST(TakeoverWatch, IdleProgram_IsFine) {
  TakeoverWatch watch;
  TakeoverWatch::Observed seen = {100, 5, 5, 5, 0};
  for (uint64_t second = 1; second < 100; ++second) EXPECT_EQ(watch.Look(second * kSecond, seen), Verdict::kFine);
}

TEST(TakeoverWatch, AFewCallsThatLeaveNoRecord_AreNoProof) {
  TakeoverWatch watch;
  TakeoverWatch::Observed seen = {0, 1, 1, 1, 0};
  watch.Look(kSecond, seen);
  seen.enqueued = TakeoverWatch::kFewest - 1;
  watch.Look(2 * kSecond, seen);
  EXPECT_EQ(watch.Look(20 * kSecond, seen), Verdict::kFine);
}

TEST(TakeoverWatch, MoreWorkThanTheBuffersHold_MeansTakenAway) {
  TakeoverWatch watch;
  TakeoverWatch::Observed seen = {0, 2, 1, 1, 1};
  watch.Look(kSecond, seen);
  seen.enqueued = TakeoverWatch::kMostRecordsInABuffer + 1;
  watch.Look(2 * kSecond, seen);
  EXPECT_EQ(watch.Look(5 * kSecond, seen), Verdict::kTakenAway);
}

// With CUPTI's records of its own work on, each flush makes one and gets it back.
TEST(TakeoverWatch, OnlyWhatFlushesSayOfThemselves_MeansSwitchedOff) {
  TakeoverWatch watch;
  TakeoverWatch::Observed seen = {0, 2, 1, 1, 1};
  watch.Look(kSecond, seen);
  seen.enqueued = 1000;
  seen.pulses += 3;
  watch.Look(2 * kSecond, seen);
  EXPECT_EQ(watch.Look(5 * kSecond, seen), Verdict::kSwitchedOff);
}

TEST(TakeoverWatch, KernelThatNeverEnds_IsNotATakeover) {
  TakeoverWatch watch;
  TakeoverWatch::Observed seen = {0, 2, 1, 1, 1};
  watch.Look(kSecond, seen);
  // Its buffer is held back for good; other work goes on to fill others.
  for (uint64_t second = 2; second < 100; ++second) {
    seen.enqueued += 3000;
    ++seen.requests;
    ++seen.outstanding;
    EXPECT_EQ(watch.Look(second * kSecond, seen), Verdict::kFine);
  }
}

}  // namespace
}  // namespace stallscope::agent
