#include "tests/simgpu/core/given_timing.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/simgpu/core/fake_clock.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

constexpr uint64_t kStartNs = 1'000'000;

Config TestConfig() {
  Config config;
  config.launch_latency_ns = 100;
  config.stream_gap_ns = 10;
  config.graph_launch_latency_ns = 200;
  config.graph_node_gap_ns = 5;
  config.kernel_ns = 1000;
  config.launch_call_ns = 0;
  config.graph_launch_call_ns = 0;
  return config;
}

class Given : public testing::Test {
 protected:
  const Config config_ = TestConfig();
  FakeClock clock_{kStartNs};
  Simulator simulator_{config_, clock_};
  Device& device_ = *simulator_.device(0);
  Stream* stream_ = device_.CreateStream(StreamKind::kNonBlocking, 0);

  Work Kernel() {
    KernelWork work;
    work.kernel = simulator_.kernels().Named("k");
    return work;
  }
};

TEST_F(Given, Duration_IsOfTheNextOperationOnly) {
  simgpu_next_duration(70);
  const Span first = device_.Enqueue(stream_, Kernel());
  const Span second = device_.Enqueue(stream_, Kernel());
  EXPECT_EQ(first.end_ns - first.begin_ns, 70u);
  EXPECT_EQ(second.end_ns - second.begin_ns, 1000u);
}

TEST_F(Given, Begin_IsTakenAsItIs) {
  simgpu_next_begin(kStartNs + 5);
  EXPECT_EQ(device_.Enqueue(stream_, Kernel()).begin_ns, kStartNs + 5);
}

TEST_F(Given, BeginBeforeTheStreamIsFree_WaitsForTheStreamWithoutAGap) {
  const Span first = device_.Enqueue(stream_, Kernel());
  simgpu_next_begin(kStartNs + 5);
  EXPECT_EQ(device_.Enqueue(stream_, Kernel()).begin_ns, first.end_ns);
}

TEST_F(Given, BeginBeforeTheLaunch_IsTheLaunch) {
  simgpu_next_begin(kStartNs - 50);
  EXPECT_EQ(device_.Enqueue(stream_, Kernel()).begin_ns, kStartNs);
}

TEST_F(Given, CapturedNodes_KeepTheirTimingFromTheGraphsBegin) {
  ASSERT_TRUE(simulator_.BeginCapture(stream_));
  simgpu_next_duration(30);
  simgpu_next_begin(0);
  simulator_.Submit(stream_, Kernel());
  simgpu_next_duration(40);
  simgpu_next_begin(75);
  simulator_.Submit(stream_, Kernel());
  const std::unique_ptr<Graph> graph(simulator_.EndCapture(stream_));
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  std::vector<Span> nodes;
  const Span whole = device_.EnqueueGraph(stream_, *exec, &nodes);
  EXPECT_EQ(whole.begin_ns, kStartNs + 200);
  EXPECT_EQ(nodes[0].end_ns, whole.begin_ns + 30);
  EXPECT_EQ(nodes[1].begin_ns, whole.begin_ns + 75);
  EXPECT_EQ(whole.end_ns, whole.begin_ns + 115);
}

TEST(ThreadClock, StandsStillAndMovesByWhatIsWaitedFor) {
  Clock& clock = MonotonicClock();
  simgpu_set_thread_clock(kStartNs);
  EXPECT_EQ(clock.NowNs(), kStartNs);
  clock.WaitUntil(kStartNs + 40, WaitMode::kBlock);
  clock.WaitUntil(kStartNs + 30, WaitMode::kSpin);
  EXPECT_EQ(simgpu_thread_clock(), kStartNs + 40);
  EXPECT_GT(clock.SharedNowNs(), kStartNs + 40);  // the machine has been up for longer than a millisecond
  simgpu_set_thread_clock(0);
  EXPECT_GT(clock.NowNs(), kStartNs + 40);
}

}  // namespace
}  // namespace simgpu
