#include "collector/timeline/timeline.h"

#include <gtest/gtest.h>

namespace stallscope {
namespace {

CudaCallEvent Launch(ThreadIndex thread, HostNs begin, HostNs end, uint32_t correlation, uint64_t stream = 0x50) {
  CudaCallEvent call{};
  call.thread = thread;
  call.call_class = wire::CudaCallClass::kLaunch;
  call.copy_kind = wire::CopyKind::kUnknown;
  call.begin = begin;
  call.end = end;
  call.correlation = correlation;
  call.stream = stream;
  return call;
}

GpuOpEvent Kernel(HostNs begin, HostNs end, uint32_t correlation, uint32_t device = 0, uint32_t stream = 7) {
  GpuOpEvent op{};
  op.kind = wire::GpuOpKind::kKernel;
  op.device = device;
  op.stream = stream;
  op.correlation = correlation;
  op.begin = begin;
  op.end = end;
  return op;
}

TEST(Timeline, RecordsInAnyOrder_AreSortedByBegin) {
  Timeline timeline(nullptr);
  for (const HostNs begin : {500, 100, 300, 200, 400}) timeline.AddGpuOp(Kernel(begin, begin + 50, 0));
  timeline.SettleDevices();
  timeline.AddGpuOp(Kernel(250, 260, 0));
  timeline.SettleDevices();
  const DeviceTimeline& device = *timeline.Device(0);
  ASSERT_EQ(device.size(), 6u);
  for (size_t i = 1; i < device.size(); ++i) EXPECT_LE(device[i - 1].begin, device[i].begin);
}

TEST(Timeline, LateRecordBeforeTheSeekPosition_IsFoundAgain) {
  Timeline timeline(nullptr);
  for (HostNs begin = 0; begin < 1000; begin += 100) timeline.AddGpuOp(Kernel(begin, begin + 50, 0));
  timeline.SettleDevices();
  EXPECT_EQ(timeline.Device(0)->Seek(500), 5u);
  timeline.AddGpuOp(Kernel(410, 700, 0));
  timeline.SettleDevices();
  EXPECT_EQ((*timeline.Device(0))[timeline.Device(0)->Seek(500)].begin, 410);
}

TEST(Timeline, Stream_IsLearnedFromEitherOrderOfArrival) {
  Timeline timeline(nullptr);
  EXPECT_EQ(timeline.PlaceOfStream(0x50, 1), nullptr);
  timeline.AddCudaCall(Launch(1, 0, 10, 1, 0x50));
  timeline.AddGpuOp(Kernel(20, 30, 1, 0, 13));
  timeline.AddGpuOp(Kernel(40, 50, 2, 1, 14));  // the record first
  timeline.AddCudaCall(Launch(1, 15, 18, 2, 0x60));
  ASSERT_NE(timeline.PlaceOfStream(0x50, 1), nullptr);
  EXPECT_EQ(timeline.PlaceOfStream(0x50, 1)->stream, 13u);
  EXPECT_EQ(timeline.PlaceOfStream(0x60, 9)->device, 1u);
  uint32_t device = 9;
  ASSERT_TRUE(timeline.DeviceOfThread(1, &device));
  EXPECT_EQ(device, 1u);
}

TEST(Timeline, PendingLaunches_EndWithTheirRecordsOrAreGivenUp) {
  Timeline timeline(nullptr);
  timeline.AddCudaCall(Launch(1, 10, 20, 1));
  timeline.AddCudaCall(Launch(2, 15, 25, 2));
  EXPECT_EQ(timeline.OldestPendingLaunch(), 10);
  timeline.AddGpuOp(Kernel(30, 40, 1));
  EXPECT_EQ(timeline.OldestPendingLaunch(), 15);
  EXPECT_EQ(timeline.GiveUpLaunchesBefore(15), 0u);
  EXPECT_EQ(timeline.GiveUpLaunchesBefore(16), 1u);
  EXPECT_EQ(timeline.OldestPendingLaunch(), INT64_MAX);
  ASSERT_EQ(timeline.missing().size(), 1u);
  timeline.AddGpuOp(Kernel(30, 40, 2));  // after all
  EXPECT_TRUE(timeline.missing().empty());
}

TEST(Timeline, GpuRecordsSwitchedOff_AreNeitherWaitedForNorLost) {
  Timeline timeline(nullptr);
  timeline.AddCudaCall(Launch(1, 10, 20, 1));  // lost
  timeline.AddCudaCall(Launch(1, 30, 40, 2));
  timeline.AddGpuOp(Kernel(45, 50, 2));
  timeline.AddCudaCall(Launch(1, 60, 70, 3));  // after the switch, before it was said
  timeline.SetGpuRecordsOff(true);
  EXPECT_EQ(timeline.OldestPendingLaunch(), 10);
  EXPECT_EQ(timeline.GiveUpLaunchesBefore(100), 1u);
  timeline.AddCudaCall(Launch(1, 200, 210, 4));
  EXPECT_EQ(timeline.OldestPendingLaunch(), INT64_MAX);
  timeline.AddCudaCall(Launch(1, 300, 310, 5));
  timeline.AddGpuOp(Kernel(320, 330, 5));  // on again, not said yet
  timeline.SetGpuRecordsOff(false);
  timeline.AddCudaCall(Launch(1, 400, 410, 6));
  EXPECT_EQ(timeline.OldestPendingLaunch(), 400);
  timeline.DropBefore(350);
  EXPECT_EQ(timeline.counts().orphans, 0u);
  EXPECT_EQ(timeline.counts().NeverDelivered(), 1u);
}

TEST(Timeline, DriverCallInsideRuntimeCall_IsOneLaunch) {
  Timeline timeline(nullptr);
  timeline.AddCudaCall(Launch(1, 12, 18, 1));
  timeline.AddCudaCall(Launch(1, 10, 20, 1));
  EXPECT_EQ(timeline.launches().Find(1)->begin, 10);
  timeline.AddGpuOp(Kernel(30, 40, 1));
  EXPECT_EQ(timeline.OldestPendingLaunch(), INT64_MAX);
}

TEST(Timeline, LaunchWithoutACopyKind_IsNotTakenForAHostToHostCopy) {
  Timeline timeline(nullptr);
  CudaCallEvent launch = Launch(1, 0, 10, 7);
  launch.copy_kind = static_cast<wire::CopyKind>(0);  // what every call but a copy carries
  timeline.AddCudaCall(launch);
  ASSERT_NE(timeline.launches().Find(7), nullptr);
  CudaCallEvent copy = Launch(1, 20, 30, 8);
  copy.call_class = wire::CudaCallClass::kCopyAsync;
  copy.copy_kind = wire::CopyKind::kHostToHost;
  timeline.AddCudaCall(copy);
  EXPECT_EQ(timeline.launches().Find(8), nullptr);
}

TEST(Timeline, DropBefore_FreesEverythingOld) {
  Timeline timeline(nullptr);
  for (uint32_t i = 1; i <= 10000; ++i) {
    const HostNs t = i * 100;
    timeline.AddCudaCall(Launch(1, t, t + 10, i));
    timeline.AddGpuOp(Kernel(t + 20, t + 80, i));
    WakeEvent wake{};
    wake.thread = 2;
    wake.at = t;
    wake.object = 0x1000 + i;  // a new object each time
    timeline.AddWake(wake);
    if (i % 100 == 0) timeline.DropBefore(t - 5000);
  }
  EXPECT_LT(timeline.Thread(1)->calls().size(), 100u);
  EXPECT_LT(timeline.Device(0)->size(), 100u);
  EXPECT_LT(timeline.launches().size(), 100u);
  EXPECT_LT(timeline.wakes().size(), 100u);
  EXPECT_EQ(timeline.counts().orphans, 0u);
}

TEST(Timeline, KernelBeforeItsLaunch_IsCounted) {
  Timeline timeline(nullptr);
  timeline.AddCudaCall(Launch(1, 100, 110, 1));
  timeline.AddGpuOp(Kernel(98, 150, 1));
  EXPECT_EQ(timeline.counts().clamped, 1u);
}

TEST(Timeline, CallsThatNeverMakeARecord_AreNoLongerWaitedFor) {
  Timeline timeline(nullptr);
  for (uint32_t i = 1; i <= 40; ++i) {
    timeline.AddCudaCall(Launch(1, i * 100, i * 100 + 10, i));
    timeline.GiveUpLaunchesBefore(i * 100 + 50);
  }
  timeline.AddCudaCall(Launch(1, 9000, 9010, 41));
  EXPECT_EQ(timeline.OldestPendingLaunch(), INT64_MAX);
  EXPECT_EQ(timeline.missing().size(), 32u);
}

TEST(Timeline, LongAsyncCopyThatHadEndedBeforeItReturned_IsABlockingCopy) {
  Timeline timeline(nullptr);
  CudaCallEvent copy = Launch(1, 0, 900'000, 1);
  copy.call_class = wire::CudaCallClass::kCopyAsync;
  copy.copy_kind = wire::CopyKind::kDeviceToHost;
  copy.argument = 64;
  timeline.AddCudaCall(copy);
  EXPECT_FALSE(IsBlockingCopy(timeline.Thread(1)->calls()[0]));
  timeline.AddGpuOp(Kernel(880'000, 890'000, 1));
  EXPECT_TRUE(IsBlockingCopy(timeline.Thread(1)->calls()[0]));
}

TEST(WakeIndex, Lock_LastWakeWithinTheWait) {
  WakeIndex wakes;
  for (const HostNs at : {10, 20, 30, 40}) wakes.Add({2, wire::OsCall::kPthreadMutexUnlock, at, 5, 0, 0, 0});
  EXPECT_EQ(wakes.Find(5, 15, 35, 1, 0, false)->at, 30);
  EXPECT_EQ(wakes.Find(5, 15, 35, 1, 0, true)->at, 20);
  EXPECT_EQ(wakes.Find(5, 15, 35, 2, 0, false), nullptr);  // nobody wakes itself
  EXPECT_EQ(wakes.Find(6, 15, 35, 1, 0, false), nullptr);
}

TEST(WakeIndex, WokenThreadKnown_OthersAreNotWoken) {
  WakeIndex wakes;
  wakes.Add({2, wire::OsCall::kFutexWake, 20, 5, 1001, 0, 0});
  wakes.Add({2, wire::OsCall::kFutexWake, 30, 5, 1002, 0, 0});
  EXPECT_EQ(wakes.Find(5, 0, 50, 1, 1001, false)->at, 20);
}

TEST(WakeIndex, WakeStampedAHairAfterTheWaiterRan_IsTaken) {
  WakeIndex wakes;
  wakes.Add({2, wire::OsCall::kPthreadCondSignal, 50'400, 5, 0, 0, 0});
  ASSERT_NE(wakes.Find(5, 0, 50'000, 1, 0, false), nullptr);
  EXPECT_EQ(wakes.Find(5, 0, 40'000, 1, 0, false), nullptr);
}

}  // namespace
}  // namespace stallscope
