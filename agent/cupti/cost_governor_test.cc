#include "agent/cupti/cost_governor.h"

#include <gtest/gtest.h>

namespace stallscope::agent {
namespace {

using wire::Level;

constexpr uint64_t kRoundNs = 50'000'000;

// A decode loop in simulated time, with what CUPTI and the agent cost in it.
struct Loop {
  CostGovernor governor;
  CostGovernor::Observed seen;
  CostGovernor::Decision decision;
  double steps_per_s = 50;
  double nodes_per_step = 2500;
  double record_on_thread_ns = 200;  // of CUPTI, inside the launch
  double record_on_agent_ns = 60;    // parsing and packing
  double callback_ns = 300;
  double callbacks_per_step = 20;
  double launch_ns = 30'000;
  double spent_ns = 0;  // the truth
  uint64_t windows = 0, window_rounds = 0;
  bool learnt = false;

  Loop() { seen.now_ns = 1'000'000'000; }

  void RunFor(double seconds) {
    const auto end_ns = seen.now_ns + static_cast<uint64_t>(seconds * 1e9);
    while (seen.now_ns < end_ns) {
      const bool was_open = decision.window;
      const double steps = steps_per_s * kRoundNs / 1e9;
      const bool nodes = decision.window || decision.level == Level::kNodes;
      const double records = !decision.gpu_records ? 0 : nodes ? steps * nodes_per_step : steps * 5;
      const double on_agent = records * record_on_agent_ns + 100'000 * kRoundNs / 1e9;
      const double on_callbacks = steps * callbacks_per_step * callback_ns;
      const double lengthening = records * record_on_thread_ns;
      spent_ns += on_agent + on_callbacks + lengthening;
      seen.now_ns += kRoundNs;
      seen.own_cpu_ns += static_cast<uint64_t>(on_agent);
      seen.on_threads_ns += static_cast<uint64_t>(on_callbacks);
      seen.graph_launches += static_cast<uint64_t>(steps + 0.5);
      seen.graph_launch_ns += static_cast<uint64_t>(steps * launch_ns + lengthening);
      if (nodes && records > 0) learnt = true;
      seen.unlearned_graphs = !learnt;
      decision = governor.Look(seen);
      windows += decision.window && !was_open;
      window_rounds += decision.window;
    }
  }
};

TEST(CostGovernor, BigGraphDecode_StaysUnderOnePercentAndLearns) {
  Loop loop;
  loop.governor.Ask(Level::kBudget);
  loop.RunFor(120);
  EXPECT_TRUE(loop.learnt);
  EXPECT_GT(loop.windows, 5u);
  EXPECT_LE(loop.spent_ns / 120e9, 0.01);
  EXPECT_EQ(loop.decision.level, Level::kBudget);
  EXPECT_EQ(loop.decision.reason, CostGovernor::Reason::kAsked);
}

TEST(CostGovernor, FirstSeconds_ShowTheCostThatWasAndNotAThirdOfIt) {
  CostGovernor governor;
  governor.Ask(Level::kBudget);
  CostGovernor::Observed seen;
  seen.now_ns = 1'000'000'000;
  CostGovernor::Decision decision = governor.Look(seen);
  for (int round = 0; round < 20; ++round) {  // one second at half a percent
    seen.now_ns += 50'000'000;
    seen.own_cpu_ns += 250'000;
    decision = governor.Look(seen);
  }
  EXPECT_NEAR(decision.cost_ppm, 5000, 50);
}

TEST(CostGovernor, DearWindows_ComeLessOften) {
  Loop cheap, dear;
  for (Loop* loop : {&cheap, &dear}) {
    loop->governor.Ask(Level::kBudget);
    loop->governor.SetLimit(2000);
  }
  dear.record_on_thread_ns = 4000;  // a small model: tracing nodes costs half of the time
  cheap.RunFor(300);
  dear.RunFor(300);
  EXPECT_GT(dear.windows, 0u);
  EXPECT_LT(dear.windows, cheap.windows);
  EXPECT_LE(dear.spent_ns / 300e9, 0.002);
}

TEST(CostGovernor, NewGraph_IsLearntSoon) {
  Loop loop;
  loop.governor.Ask(Level::kBudget);
  loop.RunFor(30);
  const uint64_t windows = loop.windows;
  loop.learnt = false;
  loop.RunFor(5);
  EXPECT_GT(loop.windows, windows);
  EXPECT_TRUE(loop.learnt);
}

TEST(CostGovernor, NodesAskedFor_AreGivenUpWhenTheyCostTooMuch) {
  Loop loop;
  loop.governor.Ask(Level::kBudget);
  loop.RunFor(5);  // knows what a launch takes without them
  loop.governor.Ask(Level::kNodes);
  loop.decision = loop.governor.Look(loop.seen);
  loop.RunFor(10);
  EXPECT_LT(loop.decision.level, Level::kNodes);
  EXPECT_EQ(loop.decision.reason, CostGovernor::Reason::kCost);
  const double before_ns = loop.spent_ns;
  loop.RunFor(60);
  EXPECT_LE((loop.spent_ns - before_ns) / 60e9, 0.011);
}

TEST(CostGovernor, HigherLimit_KeepsTheNodes) {
  Loop loop;
  loop.governor.SetLimit(100'000);
  loop.governor.Ask(Level::kBudget);
  loop.RunFor(5);
  loop.governor.Ask(Level::kNodes);
  loop.RunFor(60);
  EXPECT_EQ(loop.decision.level, Level::kNodes);
}

TEST(CostGovernor, CallsAloneTooDear_GpuRecordsGoLast) {
  Loop loop;
  loop.governor.Ask(Level::kBudget);
  loop.callbacks_per_step = 5000;
  loop.RunFor(30);
  EXPECT_FALSE(loop.decision.gpu_records);
  EXPECT_FALSE(loop.decision.window);
  EXPECT_EQ(loop.decision.reason, CostGovernor::Reason::kCost);
  loop.callbacks_per_step = 20;
  loop.RunFor(120);
  EXPECT_TRUE(loop.decision.gpu_records) << "it comes back when there is room";
}

TEST(CostGovernor, IdleProgram_OpensNoWindow) {
  Loop loop;
  loop.governor.Ask(Level::kBudget);
  loop.steps_per_s = 0;
  loop.RunFor(60);
  EXPECT_EQ(loop.windows, 0u);
}

TEST(CostGovernor, WindowAskedFor_OpensWhateverItCosts) {
  Loop loop;
  loop.governor.Ask(Level::kBudget);
  loop.RunFor(1);
  loop.governor.AskForWindow(200'000'000);
  loop.RunFor(0.05);
  EXPECT_TRUE(loop.decision.window);
  loop.RunFor(1);
  EXPECT_FALSE(loop.decision.window);
}

TEST(CostGovernor, Off_StaysOff) {
  Loop loop;
  loop.governor.Ask(Level::kOff);
  loop.RunFor(10);
  EXPECT_EQ(loop.decision.level, Level::kOff);
  EXPECT_FALSE(loop.decision.window);
}

}  // namespace
}  // namespace stallscope::agent
