#include "collector/governor/graph_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace stallscope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr HostNs kMs = 1'000'000;
constexpr StringId kGemm = 1, kNorm = 2;

class Names : public ProcessNames {
 public:
  std::string_view String(StringId id) const override { return id == kGemm ? "sgemm_128x64" : "rms_norm_kernel"; }
  std::string_view CallName(wire::CudaDomain, uint16_t) const override { return ""; }
  const ThreadInfo* Thread(ThreadIndex) const override { return nullptr; }
};

GpuOpEvent Op(wire::GpuOpKind kind, uint32_t graph, uint32_t correlation, HostNs begin, HostNs end, StringId name = 0) {
  GpuOpEvent op = {};
  op.kind = kind;
  op.graph = graph;
  op.correlation = correlation;
  op.begin = begin;
  op.end = end;
  op.name = name;
  op.copy_kind = wire::CopyKind::kDeviceToDevice;
  return op;
}

class GraphMixes : public testing::Test {
 protected:
  // `gemm` and `norm` tenths of a replay of 10 ms, the rest a fill.
  void TracedReplay(uint32_t graph, int gemm, int norm) {
    ++correlation_;
    const HostNs begin = now_;
    mix_.OnOp(Op(wire::GpuOpKind::kKernel, graph, correlation_, begin, begin + gemm * kMs, kGemm));
    mix_.OnOp(
        Op(wire::GpuOpKind::kKernel, graph, correlation_, begin + gemm * kMs, begin + (gemm + norm) * kMs, kNorm));
    mix_.OnOp(Op(wire::GpuOpKind::kMemset, graph, correlation_, begin + (gemm + norm) * kMs, begin + 10 * kMs));
    now_ += 20 * kMs;
  }
  void WholeReplays(uint32_t graph, int count) {
    for (int i = 0; i < count; ++i) {
      mix_.OnOp(Op(wire::GpuOpKind::kGraph, graph, ++correlation_, now_, now_ + 10 * kMs));
      now_ += 20 * kMs;
    }
  }
  int64_t Of(Line line) const { return lines_[static_cast<size_t>(line)]; }

  Names names_;
  GraphMix mix_{&names_};
  HostNs now_ = 1'000 * kMs;
  uint32_t correlation_ = 0;
  LineSums lines_ = {};
};

TEST_F(GraphMixes, TracedReplays_SplitTheWholeOnesToTheNanosecond) {
  for (int i = 0; i < 4; ++i) TracedReplay(7, 6, 3);
  WholeReplays(7, 100);
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1'000'000'007;
  lines_[static_cast<size_t>(Line::kHostCpu)] = 5;
  const std::string told = mix_.Split(now_, &lines_);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuGemm)), 6e8, 5);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuNormAct)), 3e8, 5);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuMemset)), 1e8, 5);
  EXPECT_EQ(std::accumulate(lines_.begin(), lines_.end(), int64_t{0}), 1'000'000'012);
  EXPECT_THAT(told, HasSubstr("an estimate from 3 traced replays of 1 graph, up to 2 s old, spread 0.0 points"));
}

TEST_F(GraphMixes, NothingTraced_SplitsNothing) {
  WholeReplays(7, 10);
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 100;
  EXPECT_THAT(mix_.Split(now_, &lines_), IsEmpty());
  EXPECT_EQ(Of(Line::kGpuGraph), 100);
}

TEST_F(GraphMixes, TwoGraphs_CountByTheTimeTheyRun) {
  for (int i = 0; i < 4; ++i) TracedReplay(1, 10, 0);
  for (int i = 0; i < 4; ++i) TracedReplay(2, 0, 10);
  for (int i = 0; i < 30; ++i) {
    WholeReplays(1, 3);
    WholeReplays(2, 1);
  }
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1000;
  mix_.Split(now_, &lines_);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuGemm)), 750, 10);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuNormAct)), 250, 10);
}

TEST_F(GraphMixes, UntracedGraph_StaysWholeAndIsSaid) {
  for (int i = 0; i < 4; ++i) TracedReplay(1, 10, 0);
  for (int i = 0; i < 30; ++i) {
    WholeReplays(1, 1);
    WholeReplays(3, 1);
  }
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1000;
  EXPECT_THAT(mix_.Split(now_, &lines_), HasSubstr("50 % of graph time has not been traced yet"));
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuGraph)), 500, 10);
}

TEST_F(GraphMixes, RecycledGraphId_IsLearntAnew) {
  for (int i = 0; i < 10; ++i) TracedReplay(1, 10, 0);
  for (int i = 0; i < 3; ++i) TracedReplay(1, 1, 9);  // another graph with the old one's id
  WholeReplays(1, 10);
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1000;
  mix_.Split(now_, &lines_);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuNormAct)), 900, 5);
}

// A mix of two graphs would be the number of neither.
TEST_F(GraphMixes, IdWithAnotherExecutableGraph_IsCountedAndForgotten) {
  for (int i = 0; i < 4; ++i) {
    mix_.OnLaunch(correlation_ + 1, 0xa0);
    TracedReplay(1, 10, 0);
  }
  EXPECT_EQ(mix_.reused_ids(), 0u);
  mix_.OnLaunch(++correlation_, 0xb0);
  mix_.OnOp(Op(wire::GpuOpKind::kGraph, 1, correlation_, now_, now_ + 10 * kMs, 0));
  EXPECT_EQ(mix_.reused_ids(), 1u);
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1000;
  EXPECT_EQ(mix_.Split(now_, &lines_), "") << "nothing is known of the graph that has the id now";
  mix_.OnLaunch(++correlation_, 0xb0);
  mix_.OnOp(Op(wire::GpuOpKind::kGraph, 1, correlation_, now_, now_ + 10 * kMs, 0));
  EXPECT_EQ(mix_.reused_ids(), 1u);
}

TEST_F(GraphMixes, ReplaysThatDiffer_ShowTheirSpread) {
  for (int i = 0; i < 40; ++i) TracedReplay(1, i % 2 == 0 ? 6 : 7, 3);
  WholeReplays(1, 10);
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1000;
  const std::string told = mix_.Split(now_, &lines_);
  EXPECT_THAT(told, testing::ContainsRegex("spread [4-7]\\.[0-9] points"));
}

TEST_F(GraphMixes, TimeBetweenNodes_StaysWithTheGraph) {
  for (int i = 0; i < 4; ++i) {
    ++correlation_;
    mix_.OnOp(Op(wire::GpuOpKind::kKernel, 1, correlation_, now_, now_ + 4 * kMs, kGemm));
    mix_.OnOp(Op(wire::GpuOpKind::kKernel, 1, correlation_, now_ + 6 * kMs, now_ + 10 * kMs, kGemm));
    now_ += 20 * kMs;
  }
  WholeReplays(1, 10);
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1000;
  mix_.Split(now_, &lines_);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuGemm)), 800, 2);
  EXPECT_NEAR(static_cast<double>(Of(Line::kGpuGraph)), 200, 2);
}

TEST_F(GraphMixes, ThousandsOfGraphs_TakeFixedMemory) {
  for (uint32_t graph = 1; graph < 5000; ++graph) WholeReplays(graph, 1);
  TracedReplay(9000, 10, 0);
  TracedReplay(9000, 10, 0);
  WholeReplays(9000, 1);
  lines_[static_cast<size_t>(Line::kGpuGraph)] = 1000;
  EXPECT_THAT(mix_.Split(now_, &lines_), HasSubstr("1 graph,"));
}

}  // namespace
}  // namespace stallscope
