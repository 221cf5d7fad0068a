// How near simulated runs come to their ideal: what the device would need if it never had to wait for the host. The host's
// time is the configured time of its calls, so everything here is simulated time.
#include <gtest/gtest.h>

#include <memory>

#include "tests/simgpu/core/fake_clock.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu {
namespace {

constexpr uint64_t kStartNs = 1'000'000;
constexpr uint64_t kKernelNs = 5000;

// The defaults, as programs get them, with kernels of 5 us.
Config FiveMicroseconds() {
  Config config;
  config.kernel_ns = kKernelNs;
  return config;
}

class TimingFidelity : public testing::Test {
 protected:
  const Config config_ = FiveMicroseconds();
  FakeClock clock_{kStartNs};
  Simulator simulator_{config_, clock_};
  Device& device_ = *simulator_.device(0);
  Stream* stream_ = device_.CreateStream(StreamKind::kNonBlocking, 0);

  // Launches kernels and waits for them; the simulated time from the first launch to the return of the wait.
  uint64_t RunKernels(int count) {
    KernelWork work;
    work.kernel = simulator_.kernels().Named("k");
    const uint64_t begin_ns = clock_.NowNs();
    for (int i = 0; i < count; ++i) simulator_.Submit(stream_, work);
    simulator_.SynchronizeStream(stream_, WaitMode::kSpin);
    return clock_.NowNs() - begin_ns;
  }
  uint64_t IdealNs(uint64_t count, uint64_t gap_ns) const { return count * kKernelNs + (count - 1) * gap_ns; }
};

TEST_F(TimingFidelity, DecodeStepOf37Kernels_IsWithinFivePercentOfItsIdeal) {
  RunKernels(37);  // the step before
  const uint64_t step_ns = RunKernels(37), ideal_ns = IdealNs(37, config_.stream_gap_ns);
  EXPECT_GE(step_ns, ideal_ns);
  EXPECT_LE(static_cast<double>(step_ns), 1.05 * static_cast<double>(ideal_ns));
}

TEST_F(TimingFidelity, DecodeStepAsAGraph_IsWithinFivePercentOfItsIdeal) {
  simulator_.BeginCapture(stream_);
  KernelWork work;
  work.kernel = simulator_.kernels().Named("k");
  for (int i = 0; i < 37; ++i) simulator_.Submit(stream_, work);
  const std::unique_ptr<Graph> graph(simulator_.EndCapture(stream_));
  const std::unique_ptr<GraphExec> exec(Instantiate(*graph));
  const uint64_t begin_ns = clock_.NowNs();
  simulator_.SubmitGraph(stream_, *exec);
  simulator_.SynchronizeStream(stream_, WaitMode::kSpin);
  const uint64_t step_ns = clock_.NowNs() - begin_ns, ideal_ns = IdealNs(37, config_.graph_node_gap_ns);
  EXPECT_GE(step_ns, ideal_ns);
  EXPECT_LE(static_cast<double>(step_ns), 1.05 * static_cast<double>(ideal_ns));
}

TEST_F(TimingFidelity, FourThousandLaunchesAtFullDepth_AreWithinTwoPercentOfTheirIdeal) {
  ASSERT_EQ(config_.queue_depth, 1024u);
  const uint64_t run_ns = RunKernels(4000), ideal_ns = IdealNs(4000, config_.stream_gap_ns);
  EXPECT_GE(run_ns, ideal_ns);
  EXPECT_LE(static_cast<double>(run_ns), 1.02 * static_cast<double>(ideal_ns));
}

TEST_F(TimingFidelity, LaunchesFasterThanTheDevice_AreHeldBackByTheQueueAlone) {
  KernelWork work;
  work.kernel = simulator_.kernels().Named("k");
  const uint64_t begin_ns = clock_.NowNs();
  for (int i = 0; i < 4000; ++i) simulator_.Submit(stream_, work);
  // When the last launch returns, at most a queue of kernels is still to run.
  const uint64_t left_ns = device_.StreamEndNs(stream_) - clock_.NowNs();
  EXPECT_LE(left_ns, 1025 * (kKernelNs + config_.stream_gap_ns));
  EXPECT_GT(clock_.NowNs() - begin_ns, 4000 * config_.launch_call_ns);
}

}  // namespace
}  // namespace simgpu
