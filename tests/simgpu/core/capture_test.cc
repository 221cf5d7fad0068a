#include "tests/simgpu/core/capture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "tests/simgpu/core/fake_clock.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

constexpr uint64_t kStartNs = 1'000'000;

Config TestConfig() {
  Config config;
  config.graph_launch_latency_ns = 200;
  config.graph_node_gap_ns = 5;
  config.kernel_ns = 1000;
  config.launch_call_ns = 0;
  config.graph_launch_call_ns = 0;
  return config;
}

class GraphCapture : public testing::Test {
 protected:
  const Config config_ = TestConfig();
  FakeClock clock_{kStartNs};
  Simulator simulator_{config_, clock_};
  Device& device_ = *simulator_.device(0);
  Stream* stream_ = device_.CreateStream(StreamKind::kNonBlocking, 0);

  Work Kernel(const char* name = "k") {
    KernelWork work;
    work.kernel = simulator_.kernels().Named(name);
    return work;
  }
  std::unique_ptr<Graph> CaptureKernels(int count) {
    simulator_.BeginCapture(stream_);
    for (int i = 0; i < count; ++i) simulator_.Submit(stream_, Kernel());
    return std::unique_ptr<Graph>(simulator_.EndCapture(stream_));
  }
};

TEST_F(GraphCapture, CapturedWork_DoesNotRun) {
  const auto graph = CaptureKernels(3);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->nodes.size(), 3u);
  EXPECT_EQ(device_.DeviceEndNs(), 0u);
}

TEST_F(GraphCapture, Replay_RunsTheNodesInOrderWithTheirGaps) {
  const auto graph = CaptureKernels(3);
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  std::vector<Span> spans;
  const Span whole = device_.EnqueueGraph(stream_, *exec, &spans);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].begin_ns, kStartNs + 200);
  EXPECT_EQ(spans[1].begin_ns, spans[0].end_ns + 5);
  EXPECT_EQ(whole.end_ns, kStartNs + 200 + 3 * 1000 + 2 * 5);
}

TEST_F(GraphCapture, ForkedStream_RunsBesideTheOriginAndJoinsBack) {
  Stream* side = device_.CreateStream(StreamKind::kNonBlocking, 0);
  Event* fork = simulator_.NewEvent(&device_, false, WaitMode::kSpin);
  Event* join = simulator_.NewEvent(&device_, false, WaitMode::kSpin);
  simulator_.BeginCapture(stream_);
  simulator_.Submit(stream_, Kernel("first"));
  simulator_.RecordEvent(fork, stream_);
  simulator_.StreamWaitEvent(side, fork);
  simulator_.Submit(side, Kernel("side"));
  simulator_.Submit(stream_, Kernel("main"));
  simulator_.RecordEvent(join, side);
  simulator_.StreamWaitEvent(stream_, join);
  simulator_.Submit(stream_, Kernel("last"));
  const std::unique_ptr<Graph> graph(simulator_.EndCapture(stream_));
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  std::vector<Span> spans;
  device_.EnqueueGraph(stream_, *exec, &spans);
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[1].begin_ns, spans[2].begin_ns);    // side and main together
  EXPECT_EQ(spans[3].begin_ns, spans[2].end_ns + 5);  // last after both
  EXPECT_EQ(side->capture.load(), nullptr);
}

TEST_F(GraphCapture, ForkedStreamNotJoinedBack_EndsWithoutAGraph) {
  Stream* side = device_.CreateStream(StreamKind::kNonBlocking, 0);
  Event* fork = simulator_.NewEvent(&device_, false, WaitMode::kSpin);
  simulator_.BeginCapture(stream_);
  simulator_.Submit(stream_, Kernel());
  simulator_.RecordEvent(fork, stream_);
  simulator_.StreamWaitEvent(side, fork);
  simulator_.Submit(side, Kernel());
  EXPECT_EQ(simulator_.EndCapture(stream_), nullptr);
}

TEST_F(GraphCapture, Update_SameShape_TakesTheNewKernels) {
  const auto graph = CaptureKernels(2);
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  simulator_.BeginCapture(stream_);
  simulator_.Submit(stream_, Kernel("other"));
  simulator_.Submit(stream_, Kernel("other"));
  const std::unique_ptr<Graph> changed(simulator_.EndCapture(stream_));
  EXPECT_EQ(Update(exec.get(), *changed), UpdateResult::kDone);
  EXPECT_EQ(std::get<KernelWork>(exec->nodes[1].work).kernel->name, "other");
}

TEST_F(GraphCapture, Update_OtherShape_LeavesTheExecutableAlone) {
  const auto graph = CaptureKernels(2);
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  const auto longer = CaptureKernels(3);
  EXPECT_EQ(Update(exec.get(), *longer), UpdateResult::kTopologyChanged);
  EXPECT_EQ(exec->nodes.size(), 2u);
}

TEST_F(GraphCapture, CopyNode_MovesBytesAtEachReplay) {
  char from[8] = "one", to[8] = {};
  CopyWork copy;
  copy.source = from;
  copy.destination = to;
  copy.width_bytes = sizeof from;
  simulator_.BeginCapture(stream_);
  simulator_.Submit(stream_, copy);
  const std::unique_ptr<Graph> graph(simulator_.EndCapture(stream_));
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  EXPECT_STREQ(to, "");
  simulator_.SubmitGraph(stream_, *exec);
  EXPECT_STREQ(to, "one");
  std::strcpy(from, "two");
  simulator_.SubmitGraph(stream_, *exec);
  EXPECT_STREQ(to, "two");
}

}  // namespace
}  // namespace simgpu
