#include "collector/timeline/device_timeline.h"

#include <gtest/gtest.h>

#include <vector>

namespace stallscope {
namespace {

GpuOp Op(HostNs begin, HostNs end) {
  GpuOp op;
  op.begin = begin;
  op.end = end;
  return op;
}

std::vector<HostNs> Begins(const DeviceTimeline& device) {
  std::vector<HostNs> begins;
  for (size_t i = 0; i < device.size(); ++i) begins.push_back(device[i].begin);
  return begins;
}

// 100 operations of 5 ns, one every 10 ns.
DeviceTimeline Hundred() {
  DeviceTimeline device;
  for (HostNs i = 0; i < 100; ++i) device.Add(Op(10 * i, 10 * i + 5));
  device.Settle();
  return device;
}

TEST(DeviceTimeline, RecordsOutOfOrder_AreReadInOrder) {
  DeviceTimeline device;
  for (const HostNs begin : {30, 10, 20}) device.Add(Op(begin, begin + 5));
  device.Settle();
  device.Add(Op(15, 18));
  device.Settle();
  EXPECT_EQ(Begins(device), (std::vector<HostNs>{10, 15, 20, 30}));
}

TEST(DeviceTimeline, Dropping_ForgetsWhatEndedBeforeOnceEach) {
  DeviceTimeline device = Hundred();
  std::vector<HostNs> dropped;
  const auto note = [&dropped](const GpuOp& op) { dropped.push_back(op.begin); };
  for (HostNs at = 0; at <= 990; at += 30) {
    device.DropBefore(at, 1000, note);
    ASSERT_EQ(device[0].begin, dropped.empty() ? 0 : dropped.back() + 10);
    ASSERT_GE(device[0].end, at);
  }
  ASSERT_EQ(dropped.size(), 99u);
  for (size_t i = 0; i < dropped.size(); ++i) EXPECT_EQ(dropped[i], static_cast<HostNs>(10 * i));
  EXPECT_EQ(Begins(device), (std::vector<HostNs>{990}));
}

TEST(DeviceTimeline, MoreThanTheCap_DropsTheOldest) {
  DeviceTimeline device = Hundred();
  device.DropBefore(0, 10, [](const GpuOp&) {});
  EXPECT_EQ(device.size(), 10u);
  EXPECT_EQ(device[0].begin, 900);
}

TEST(DeviceTimeline, AfterDropping_SeekAndSearchFindTheSameOperations) {
  DeviceTimeline device = Hundred();
  EXPECT_EQ(device[device.Seek(300)].begin, 300);
  device.DropBefore(400, 1000, [](const GpuOp&) {});  // seek stood before what is kept
  EXPECT_EQ(device[device.Seek(300)].begin, 400);
  EXPECT_EQ(device[device.Seek(500)].begin, 500);
  EXPECT_EQ(device[device.FirstBeginningAtOrAfter(595)].begin, 600);
  EXPECT_LE(device[device.FirstThatMayOverlap(603)].begin, 600);
  EXPECT_EQ(device.FirstBeginningAtOrAfter(2000), device.size());
}

TEST(DeviceTimeline, LateRecord_MovesSeekBack) {
  DeviceTimeline device = Hundred();
  device.DropBefore(300, 1000, [](const GpuOp&) {});
  device.Seek(700);
  device.Add(Op(507, 509));
  device.Add(Op(302, 303));
  device.Settle();
  EXPECT_EQ(device[device.Seek(506)].begin, 507);
  EXPECT_EQ(device[0].begin, 300);
  EXPECT_EQ(device[1].begin, 302);
}

}  // namespace
}  // namespace stallscope
