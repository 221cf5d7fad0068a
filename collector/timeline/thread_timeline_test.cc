#include "collector/timeline/thread_timeline.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

Call Make(HostNs begin, HostNs end, wire::CudaCallClass call_class = wire::CudaCallClass::kLaunch) {
  Call call;
  call.begin = begin;
  call.end = end;
  call.source = CallSource::kCuda;
  call.call_class = call_class;
  return call;
}

class ThreadTimelineTest : public testing::Test {
 protected:
  uint64_t Add(Call call) {
    bool clamped = false;
    const uint64_t number = timeline_.Add(call, &clamped);
    clamped_ += clamped ? 1 : 0;
    return number;
  }
  ThreadTimeline timeline_;
  int clamped_ = 0;
};

TEST_F(ThreadTimelineTest, Nested_InnermostCoversAndTheRestIsTheOuters) {
  Add(Make(20, 30));
  Add(Make(22, 40, wire::CudaCallClass::kAlloc));  // overlaps the one before by clock rounding: cut
  const uint64_t outer = Add(Make(10, 100, wire::CudaCallClass::kModuleLoad));
  EXPECT_EQ(clamped_, 1);
  EXPECT_EQ(timeline_.calls()[outer].inner_span, 2u);

  auto position = timeline_.Before(100, INT64_MAX);
  ASSERT_NE(position.call, nullptr);
  EXPECT_EQ(position.call->call_class, wire::CudaCallClass::kModuleLoad);
  EXPECT_EQ(position.segment_begin, 40);
  position = timeline_.Before(40, INT64_MAX);
  EXPECT_EQ(position.call->call_class, wire::CudaCallClass::kAlloc);
  EXPECT_EQ(position.segment_begin, 30);
  position = timeline_.Before(20, INT64_MAX);
  EXPECT_EQ(position.call->call_class, wire::CudaCallClass::kModuleLoad);
  EXPECT_EQ(position.segment_begin, 10);
  EXPECT_EQ(timeline_.Before(10, INT64_MAX).call, nullptr);
}

TEST_F(ThreadTimelineTest, BetweenCalls_OwnCodeSinceTheLastOne) {
  Add(Make(10, 20));
  Add(Make(50, 60));
  const auto position = timeline_.Before(50, INT64_MAX);
  EXPECT_EQ(position.call, nullptr);
  EXPECT_EQ(position.segment_begin, 20);
  EXPECT_EQ(position.before->end, 20);
  EXPECT_EQ(position.after->begin, 50);
  EXPECT_EQ(timeline_.Before(10, INT64_MAX).segment_begin, INT64_MIN);
}

TEST_F(ThreadTimelineTest, CallThatEndsAfterWhatIsVisible_IsNotThere) {
  Add(Make(10, 500));
  EXPECT_EQ(timeline_.Before(100, 400).call, nullptr);
  EXPECT_NE(timeline_.Before(100, 500).call, nullptr);
}

TEST_F(ThreadTimelineTest, EndsOutOfOrder_IsClampedAndCounted) {
  Add(Make(10, 100));
  Add(Make(20, 90));
  EXPECT_EQ(clamped_, 1);
  EXPECT_EQ(timeline_.calls()[1].end, 100);
  EXPECT_EQ(timeline_.calls()[1].begin, 100);
}

TEST_F(ThreadTimelineTest, Samples_TheCoveringPairIsUsed) {
  timeline_.AddSample({1, 0, 0, 0, 0, 0});
  timeline_.AddSample({1, 100, 80, 20, 0, 0});
  timeline_.AddSample({1, 200, 90, 110, 0, 0});
  const RunShare second = timeline_.ShareWhile(120, 180, INT64_MAX);
  EXPECT_EQ(second.on_cpu_ns, 10u);
  EXPECT_EQ(second.run_delay_ns, 90u);
  const RunShare first = timeline_.ShareWhile(120, 180, 150);  // the last sample was not taken yet
  EXPECT_EQ(first.on_cpu_ns, 80u);
  EXPECT_EQ(timeline_.ShareWhile(0, 10, 50).run_delay_ns, 0u);
}

TEST_F(ThreadTimelineTest, DropBefore_KeepsNumbers) {
  for (HostNs t = 0; t < 1000; t += 10) Add(Make(t, t + 5));
  int dropped = 0;
  timeline_.DropBefore(500, [&](const Call&, uint64_t) { ++dropped; });
  EXPECT_EQ(dropped, 50);
  EXPECT_EQ(timeline_.calls().first(), 50u);
  EXPECT_EQ(timeline_.calls()[70].begin, 700);
  EXPECT_EQ(timeline_.Before(705, INT64_MAX).number, 70u);
}

TEST_F(ThreadTimelineTest, DropAbove_RemembersSinceWhenItIsComplete) {
  for (HostNs t = 0; t < 1000; t += 10) Add(Make(t, t + 5));
  timeline_.DropAbove(10, [](const Call&, uint64_t) {});
  EXPECT_EQ(timeline_.calls().size(), 10u);
  EXPECT_EQ(timeline_.kept_since(), 895);
}

}  // namespace
}  // namespace stallscope
