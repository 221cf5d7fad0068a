#include "collector/budget/late_steps.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

constexpr ThreadIndex kThread = 1;

// A launch per id, `id` us after the other, given up on.
Timeline GivenUp(uint32_t count) {
  Timeline timeline(nullptr);
  for (uint32_t id = 1; id <= count; ++id) {
    CudaCallEvent call{};
    call.thread = kThread;
    call.call = static_cast<uint16_t>(1 + id / 16);  // few of a kind, or their records are no longer waited for
    call.call_class = wire::CudaCallClass::kLaunch;
    call.correlation = id;
    call.begin = id * 1000;
    call.end = call.begin + 10;
    timeline.AddCudaCall(call);
  }
  timeline.GiveUpLaunchesBefore(INT64_MAX);
  return timeline;
}

void RecordComes(Timeline* timeline, uint32_t id) {
  GpuOpEvent op{};
  op.kind = wire::GpuOpKind::kKernel;
  op.correlation = id;
  op.begin = id * 1000 + 20;
  op.end = op.begin + 100;
  timeline->AddGpuOp(op);
}

LateStep Step(HostNs begin, HostNs end, std::vector<uint32_t> missing) {
  LateStep late;
  late.step.begin = begin;
  late.step.end = end;
  late.missing = std::move(missing);
  return late;
}

TEST(LateSteps, Missing_AreTheLaunchesBeforeTheEndOfTheStep) {
  Timeline timeline = GivenUp(5);
  std::vector<uint32_t> missing;
  ASSERT_TRUE(LateSteps::Missing(&timeline, Step(0, 3500, {}).step, &missing));
  EXPECT_EQ(missing, (std::vector<uint32_t>{1, 2, 3}));
}

TEST(LateSteps, TooManyMissing_StepIsNotKept) {
  Timeline timeline = GivenUp(1025);
  std::vector<uint32_t> missing;
  EXPECT_TRUE(LateSteps::Missing(&timeline, Step(0, 1'024'500, {}).step, &missing));
  EXPECT_FALSE(LateSteps::Missing(&timeline, Step(0, 2'000'000, {}).step, &missing));
}

TEST(LateSteps, StepIsTakenOnceWhenItsLastRecordHasCome) {
  Timeline timeline = GivenUp(3);
  LateSteps steps;
  steps.Add(Step(0, 1500, {1}));
  steps.Add(Step(1500, 3500, {2, 3}));
  LateStep taken;
  EXPECT_FALSE(steps.TakeComplete(timeline, &taken));
  RecordComes(&timeline, 2);
  EXPECT_FALSE(steps.TakeComplete(timeline, &taken));
  RecordComes(&timeline, 3);
  ASSERT_TRUE(steps.TakeComplete(timeline, &taken));
  EXPECT_EQ(taken.step.begin, 1500);
  EXPECT_FALSE(steps.TakeComplete(timeline, &taken));
  EXPECT_EQ(steps.kept_from(), 0);
}

TEST(LateSteps, OldOrTooManySteps_GiveWay) {
  LateSteps steps;
  EXPECT_EQ(steps.kept_from(), INT64_MAX);
  for (HostNs i = 0; i < 65; ++i) steps.Add(Step(i * 100, i * 100 + 100, {1}));
  EXPECT_EQ(steps.kept_from(), 100);
  steps.ForgetBefore(1000);
  EXPECT_EQ(steps.kept_from(), 900);
  steps.ForgetBefore(1'000'000);
  EXPECT_TRUE(steps.empty());
}

}  // namespace
}  // namespace stallscope
