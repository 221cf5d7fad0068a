// Host time given to calls, and device time given to the nodes of one launch.
#include "tests/simgpu/core/given_call.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/simgpu/core/fake_clock.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

class GivenTimes : public testing::Test {
 protected:
  Config config_;
  FakeClock clock_{1'000'000};
  Simulator simulator_{config_, clock_};
  Stream* stream_ = simulator_.device(0)->CreateStream(StreamKind::kNonBlocking, 0);
  const Kernel* kernel_ = simulator_.kernels().Named("a_kernel");

  KernelWork Kernels() const {
    KernelWork work;
    work.kernel = kernel_;
    return work;
  }
};

TEST_F(GivenTimes, Launch_LastsAsLongAsGivenOnce) {
  const uint64_t begin_ns = clock_.NowNs();
  simgpu_next_call_duration(55'000);
  simulator_.Submit(stream_, Kernels());
  EXPECT_EQ(clock_.NowNs() - begin_ns, 55'000u);
  simulator_.Submit(stream_, Kernels());
  EXPECT_EQ(clock_.NowNs() - begin_ns, 55'000u + config_.launch_call_ns);
}

TEST_F(GivenTimes, Wait_NeverEndsBeforeItsWork) {
  const uint64_t begin_ns = clock_.NowNs();
  simgpu_next_call_duration(10);
  simulator_.BlockUntil(begin_ns + 1000, WaitMode::kSpin, "event");
  EXPECT_EQ(clock_.NowNs() - begin_ns, 1000 + config_.wake_spin_ns);
}

TEST_F(GivenTimes, WaitLongerThanItsWork_OverWaits) {
  const uint64_t begin_ns = clock_.NowNs();
  simgpu_next_call_duration(40'000);
  simulator_.BlockUntil(begin_ns + 1000, WaitMode::kSpin, "event");
  EXPECT_EQ(clock_.NowNs() - begin_ns, 40'000u);
  simgpu_next_call_duration(700);
  simulator_.BlockUntil(begin_ns, WaitMode::kSpin, "event");  // its work is long done
  EXPECT_EQ(clock_.NowNs() - begin_ns, 40'700u);
}

TEST_F(GivenTimes, GraphNodes_TakeTheirTimesInOneLaunch) {
  const std::unique_ptr<Graph> graph(NewGraph());
  AppendNode(graph.get(), Kernels(), {});
  AppendNode(graph.get(), Kernels(), {0});
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  std::vector<Span> spans;
  const uint64_t durations_ns[] = {123, 456};
  simgpu_next_graph_durations(durations_ns, 2);
  simulator_.device(0)->EnqueueGraph(stream_, *exec, &spans);
  EXPECT_EQ(spans[0].end_ns - spans[0].begin_ns, 123u);
  EXPECT_EQ(spans[1].end_ns - spans[1].begin_ns, 456u);
  simulator_.device(0)->EnqueueGraph(stream_, *exec, &spans);
  EXPECT_EQ(spans[0].end_ns - spans[0].begin_ns, config_.kernel_ns);
}

}  // namespace
}  // namespace simgpu
