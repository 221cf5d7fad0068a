#include "collector/steps/stream_tracker.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

using wire::CudaCallClass;

class StreamTrackerTest : public testing::Test {
 protected:
  bool Feed(CudaCallClass call_class, HostNs begin, HostNs end, uint64_t stream, uint64_t argument = 0,
            uint32_t correlation = 0, int32_t result = 0) {
    Call call;
    call.source = CallSource::kCuda;
    call.call_class = call_class;
    call.begin = begin;
    call.end = end;
    call.object = stream;
    call.argument = argument;
    call.correlation = correlation;
    call.result = result;
    const bool copy = call_class == CudaCallClass::kCopyAsync || call_class == CudaCallClass::kCopySync;
    if (copy) call.copy_kind = wire::CopyKind::kDeviceToHost;
    context_ = SyncContext{};
    return tracker_.OnCall(1, call, &context_, &delivery_);
  }

  StreamTracker tracker_;
  SyncContext context_;
  Delivery delivery_;
  static constexpr uint64_t kA = 0x10, kB = 0x20, kEvent = 0x30;
};

TEST_F(StreamTrackerTest, EventStandsForTheMomentOfItsRecord) {
  Feed(CudaCallClass::kGraphLaunch, 0, 1, kA, 0, 1);
  Feed(CudaCallClass::kCopyAsync, 1, 2, kA, 16, 2);
  Feed(CudaCallClass::kEventRecord, 2, 3, kA, kEvent);
  Feed(CudaCallClass::kGraphLaunch, 3, 4, kA, 0, 3);  // the next step, before the wait
  Feed(CudaCallClass::kCopyAsync, 4, 5, kA, 16, 4);
  ASSERT_TRUE(Feed(CudaCallClass::kSyncEvent, 6, 50, 0, kEvent));
  ASSERT_EQ(delivery_.copies.size(), 1u);
  EXPECT_EQ(delivery_.copies[0].correlation, 2u);
  EXPECT_EQ(delivery_.closure.Since({}).graphs, 1u);
  EXPECT_TRUE(context_.event_known);
  ASSERT_EQ(context_.awaited_count, 1);
  EXPECT_EQ(context_.awaited[0], 2u);
  EXPECT_EQ(context_.last_copy, 2u);
}

TEST_F(StreamTrackerTest, EventRecordedAgainDuringTheWait_TheRecordBeforeWasWaitedFor) {
  Feed(CudaCallClass::kCopyAsync, 0, 1, kA, 16, 1);
  Feed(CudaCallClass::kEventRecord, 1, 2, kA, kEvent);
  Feed(CudaCallClass::kCopyAsync, 20, 21, kA, 16, 2);
  Feed(CudaCallClass::kEventRecord, 21, 22, kA, kEvent);
  ASSERT_TRUE(Feed(CudaCallClass::kSyncEvent, 10, 50, 0, kEvent));
  ASSERT_EQ(delivery_.copies.size(), 1u);
  EXPECT_EQ(delivery_.copies[0].correlation, 1u);
}

TEST_F(StreamTrackerTest, WaitAcrossStreams_CarriesTheWork) {
  Feed(CudaCallClass::kGraphLaunch, 0, 1, kA, 0, 1);
  Feed(CudaCallClass::kEventRecord, 1, 2, kA, kEvent);
  Feed(CudaCallClass::kStreamWaitEvent, 2, 3, kB, kEvent);
  Feed(CudaCallClass::kCopyAsync, 3, 4, kB, 16, 2);
  ASSERT_TRUE(Feed(CudaCallClass::kSyncStream, 5, 50, kB));
  EXPECT_EQ(delivery_.closure.Since({}).graphs, 1u);
}

TEST_F(StreamTrackerTest, WithoutTheWaitAcrossStreams_TheOthersWorkIsNotImplied) {
  Feed(CudaCallClass::kGraphLaunch, 0, 1, kA, 0, 1);
  Feed(CudaCallClass::kCopyAsync, 3, 4, kB, 16, 2);
  ASSERT_TRUE(Feed(CudaCallClass::kSyncStream, 5, 50, kB));
  EXPECT_EQ(delivery_.closure.Since({}).graphs, 0u);
}

TEST_F(StreamTrackerTest, ReadBackIsDeliveredOnce) {
  Feed(CudaCallClass::kCopyAsync, 0, 1, kA, 16, 1);
  EXPECT_TRUE(Feed(CudaCallClass::kSyncStream, 2, 3, kA));
  EXPECT_FALSE(Feed(CudaCallClass::kSyncStream, 4, 5, kA));
  EXPECT_FALSE(Feed(CudaCallClass::kSyncDevice, 6, 7, 0));
}

TEST_F(StreamTrackerTest, FailedWaitOrUnsuccessfulQuery_DeliversNothing) {
  Feed(CudaCallClass::kCopyAsync, 0, 1, kA, 16, 1);
  EXPECT_FALSE(Feed(CudaCallClass::kQueryStream, 2, 3, kA, 0, 0, 600));
  EXPECT_FALSE(Feed(CudaCallClass::kSyncStream, 4, 5, kA, 0, 0, 700));
  EXPECT_TRUE(Feed(CudaCallClass::kQueryStream, 6, 7, kA));
}

TEST_F(StreamTrackerTest, LegacyStreamThatNeverComputes_StandsForAll) {
  Feed(CudaCallClass::kGraphLaunch, 0, 1, kA, 0, 1);
  ASSERT_TRUE(Feed(CudaCallClass::kCopySync, 2, 50, 0, 16, 2));
  EXPECT_EQ(delivery_.closure.Since({}).graphs, 1u);
  Feed(CudaCallClass::kLaunch, 60, 61, 0, 0, 3);  // from now on it computes itself, as PyTorch's does
  Feed(CudaCallClass::kGraphLaunch, 62, 63, kA, 0, 4);
  const WorkClock before = delivery_.closure;
  ASSERT_TRUE(Feed(CudaCallClass::kCopySync, 64, 80, 0, 16, 5));
  EXPECT_EQ(delivery_.closure.Since(before).graphs, 0u);
}

TEST_F(StreamTrackerTest, StreamsAndEventsWithoutEnd_AreForgottenNotPiledUp) {
  for (uint64_t i = 0; i < 100'000; ++i) {
    const auto t = static_cast<HostNs>(i * 10);
    Feed(CudaCallClass::kCopyAsync, t, t + 1, 0x1000 + i, 16, static_cast<uint32_t>(i));
    Feed(CudaCallClass::kEventRecord, t + 1, t + 2, 0x1000 + i, 0x900000 + i);
  }
  Feed(CudaCallClass::kCopyAsync, 2'000'000, 2'000'001, kA, 16, 7);
  EXPECT_TRUE(Feed(CudaCallClass::kSyncStream, 2'000'002, 2'000'003, kA));
}

}  // namespace
}  // namespace stallscope
