#include "tests/simgpu/core/timeline.h"

#include <gtest/gtest.h>

#include "tests/simgpu/core/fake_clock.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

constexpr uint64_t kStartNs = 1'000'000;

// Round numbers, so that the expectations below can be added up by hand.
Config TestConfig() {
  Config config;
  config.launch_latency_ns = 100;
  config.stream_gap_ns = 10;
  config.graph_launch_latency_ns = 200;
  config.graph_node_gap_ns = 5;
  config.kernel_ns = 1000;
  config.launch_call_ns = 0;
  config.graph_launch_call_ns = 0;
  config.copy_base_ns = 500;
  config.memset_base_ns = 400;
  config.pinned_gb_per_s = 1;  // one byte a nanosecond
  config.wake_spin_ns = 7;
  config.wake_yield_ns = 8;
  config.wake_block_ns = 9;
  config.queue_depth = 4;
  return config;
}

class Timeline : public testing::Test {
 protected:
  const Config config_ = TestConfig();
  FakeClock clock_{kStartNs};
  Simulator simulator_{config_, clock_};
  Device& device_ = *simulator_.device(0);

  Work Kernel(const char* name = "k") {
    KernelWork work;
    work.kernel = simulator_.kernels().Named(name);
    return work;
  }
  Work Upload(size_t bytes) {
    static char host[1 << 16];
    CopyWork copy;
    copy.source = host;
    copy.source_kind = MemoryKind::kPinned;
    copy.destination = simulator_.memory().AllocateDevice(bytes);
    copy.width_bytes = bytes;
    return copy;
  }
};

TEST(LaunchCall, TakesItsHostTimeWhileTheDeviceCountsFromTheCall) {
  Config config = TestConfig();
  config.launch_call_ns = 60;
  FakeClock clock{kStartNs};
  Simulator simulator{config, clock};
  KernelWork work;
  work.kernel = simulator.kernels().Named("k");
  Stream* stream = simulator.device(0)->CreateStream(StreamKind::kNonBlocking, 0);
  EXPECT_EQ(simulator.Submit(stream, work).begin_ns, kStartNs + 100);
  EXPECT_EQ(clock.NowNs(), kStartNs + 60);
}

TEST_F(Timeline, FirstKernel_StartsAfterTheLaunchLatency) {
  Stream* stream = device_.CreateStream(StreamKind::kNonBlocking, 0);
  const Span span = simulator_.Submit(stream, Kernel());
  EXPECT_EQ(span.begin_ns, kStartNs + 100);
  EXPECT_EQ(span.end_ns, kStartNs + 1100);
}

TEST_F(Timeline, SecondKernelOfAStream_StartsAfterTheFirstAndTheGap) {
  Stream* stream = device_.CreateStream(StreamKind::kNonBlocking, 0);
  simulator_.Submit(stream, Kernel());
  EXPECT_EQ(simulator_.Submit(stream, Kernel()).begin_ns, kStartNs + 1110);
}

TEST_F(Timeline, TwoNonBlockingStreams_RunTheirKernelsTogether) {
  const Span first = simulator_.Submit(device_.CreateStream(StreamKind::kNonBlocking, 0), Kernel());
  const Span second = simulator_.Submit(device_.CreateStream(StreamKind::kNonBlocking, 0), Kernel());
  EXPECT_EQ(first.begin_ns, second.begin_ns);
}

TEST_F(Timeline, LegacyStream_WaitsForBlockingStreamsAndTheyForIt) {
  Stream* blocking = device_.CreateStream(StreamKind::kBlocking, 0);
  const Span first = simulator_.Submit(blocking, Kernel());
  const Span legacy = simulator_.Submit(device_.legacy_stream(), Kernel());
  EXPECT_EQ(legacy.begin_ns, first.end_ns + 10);
  EXPECT_EQ(simulator_.Submit(blocking, Kernel()).begin_ns, legacy.end_ns + 10);
}

TEST_F(Timeline, LegacyStream_DoesNotWaitForNonBlockingStreams) {
  simulator_.Submit(device_.CreateStream(StreamKind::kNonBlocking, 0), Kernel());
  EXPECT_EQ(simulator_.Submit(device_.legacy_stream(), Kernel()).begin_ns, kStartNs + 100);
}

TEST_F(Timeline, CopiesInOneDirection_TakeTurnsOnTheirEngine) {
  const Span first = simulator_.Submit(device_.CreateStream(StreamKind::kNonBlocking, 0), Upload(1500));
  EXPECT_EQ(first.end_ns - first.begin_ns, 2000u);
  const Span second = simulator_.Submit(device_.CreateStream(StreamKind::kNonBlocking, 0), Upload(1500));
  EXPECT_EQ(second.begin_ns, first.end_ns);
}

TEST_F(Timeline, StreamWaitEvent_HoldsLaterWorkUntilTheEvent) {
  Stream* producer = device_.CreateStream(StreamKind::kNonBlocking, 0);
  Stream* consumer = device_.CreateStream(StreamKind::kNonBlocking, 0);
  const Span produced = simulator_.Submit(producer, Kernel());
  Event* event = simulator_.NewEvent(&device_, true, WaitMode::kSpin);
  simulator_.RecordEvent(event, producer);
  simulator_.StreamWaitEvent(consumer, event);
  EXPECT_EQ(event->mark_ns.load(), produced.end_ns);
  EXPECT_EQ(simulator_.Submit(consumer, Kernel()).begin_ns, produced.end_ns + 10);
}

TEST_F(Timeline, FullQueue_BlocksTheLaunchUntilTheOldestEnds) {
  Stream* stream = device_.CreateStream(StreamKind::kNonBlocking, 0);
  const Span oldest = simulator_.Submit(stream, Kernel());
  for (int i = 0; i < 3; ++i) simulator_.Submit(stream, Kernel());
  EXPECT_EQ(clock_.NowNs(), kStartNs);
  simulator_.Submit(stream, Kernel());
  EXPECT_EQ(clock_.NowNs(), oldest.end_ns);
}

TEST_F(Timeline, KernelRule_DecidesBaseAndBlockTime) {
  Config config = TestConfig();
  std::string error;
  ASSERT_TRUE(ApplyConfigLine("kernel mul_mat 3000 2.5", &config, &error)) << error;
  Simulator simulator(config, clock_);
  KernelWork work;
  work.kernel = simulator.kernels().Named("_Z9mul_mat_qPf");
  work.grid = {8, 2, 1};
  EXPECT_EQ(DurationNs(work, config), 3040u);
}

TEST_F(Timeline, BlockUntil_ReturnsAtTheEndPlusTheWakeUpOfTheMode) {
  Stream* stream = device_.CreateStream(StreamKind::kNonBlocking, 0);
  const Span span = simulator_.Submit(stream, Kernel());
  simulator_.BlockUntil(device_.StreamEndNs(stream), WaitMode::kBlock, "stream");
  EXPECT_EQ(clock_.NowNs(), span.end_ns + 9);
  EXPECT_EQ(clock_.last_mode(), WaitMode::kBlock);
}

TEST_F(Timeline, BlockUntil_WhatIsDoneAlready_CostsNothing) {
  Stream* stream = device_.CreateStream(StreamKind::kNonBlocking, 0);
  simulator_.Submit(stream, Kernel());
  clock_.Advance(1'000'000);
  simulator_.BlockUntil(device_.StreamEndNs(stream), WaitMode::kSpin, "stream");
  EXPECT_EQ(clock_.NowNs(), kStartNs + 1'000'000);
}

TEST_F(Timeline, DestroyedStream_StillCountsForTheDevice) {
  Stream* stream = device_.CreateStream(StreamKind::kNonBlocking, 0);
  const Span span = simulator_.Submit(stream, Kernel());
  device_.DestroyStream(stream);
  EXPECT_EQ(device_.DeviceEndNs(), span.end_ns);
  EXPECT_TRUE(device_.Streams().empty());
}

TEST_F(Timeline, Copy_MovesTheBytes) {
  char host[16] = "fifteen letters", back[16] = {};
  void* device_bytes = simulator_.memory().AllocateDevice(16);
  CopyWork up;
  up.destination = device_bytes;
  up.source = host;
  up.width_bytes = 16;
  simulator_.Submit(device_.legacy_stream(), up);
  CopyWork down;
  down.destination = back;
  down.source = device_bytes;
  down.width_bytes = 16;
  simulator_.Submit(device_.legacy_stream(), down);
  EXPECT_STREQ(back, host);
}

}  // namespace
}  // namespace simgpu
