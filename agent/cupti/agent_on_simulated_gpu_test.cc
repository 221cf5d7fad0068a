// The whole CUDA side of the agent on the simulated GPU: what a decode loop did arrives once, and fits together.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "agent/cupti/received_checks.h"
#include "agent/cupti/received_frames.h"
#include "proto/wire/calls.h"
#include "proto/wire/shm.h"

namespace stallscope::agent {
namespace {

using wire::CudaCallClass;
using wire::GpuOpKind;

// stallscope.v1.State.What
constexpr uint32_t kCuptiActive = 2, kCuptiTaken = 3, kCuptiMissing = 4, kCuptiReturned = 5, kCudaInitialized = 6,
                   kSimulatedGpu = 7;

constexpr int kSteps = 200;

bool Has(const std::vector<uint32_t>& states, uint32_t what) {
  return std::count(states.begin(), states.end(), what) == 1;
}

int CountOf(const Received& received, CudaCallClass call_class) {
  int count = 0;
  for (const ReceivedCall& call : received.calls) count += call.call_class == static_cast<uint32_t>(call_class);
  return count;
}

std::vector<std::string> Decode(std::vector<std::string> more = {}) {
  std::vector<std::string> command = {"decode_workload", "--steps", std::to_string(kSteps)};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

TEST(AgentOnSimulatedGpu, GraphDecode_ArrivesOnceAndMatches) {
  const Received received = RunUnderAgent(Decode());
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_TRUE(Has(received.states, kCudaInitialized));
  EXPECT_TRUE(Has(received.states, kSimulatedGpu));
  EXPECT_TRUE(Has(received.states, kCuptiActive));
  EXPECT_TRUE(received.device_is_simulated);
  EXPECT_TRUE(received.goodbye);
  EXPECT_EQ(received.lost, 0u);
  EXPECT_EQ(CountOf(received, CudaCallClass::kGraphLaunch), kSteps);
  ExpectOneCallForEachOperation(received);
  // At this level a graph is one record.
  int graphs = 0, kernels_of_graphs = 0;
  for (const ReceivedOp& op : received.ops) {
    graphs += op.kind == static_cast<uint32_t>(GpuOpKind::kGraph);
    kernels_of_graphs += op.kind == static_cast<uint32_t>(GpuOpKind::kKernel) && op.graph != 0;
  }
  EXPECT_EQ(graphs, kSteps);
  EXPECT_EQ(kernels_of_graphs, 0);
}

TEST(AgentOnSimulatedGpu, LevelNodes_GivesTheNodesOfEachReplay) {
  const Received received = RunUnderAgent(Decode(), {"STALLSCOPE_LEVEL=nodes"});
  ASSERT_EQ(received.exit_code, 0) << received.output;
  std::map<uint32_t, int> nodes;
  for (const ReceivedOp& op : received.ops) {
    EXPECT_NE(op.kind, static_cast<uint32_t>(GpuOpKind::kGraph));
    if (op.graph != 0) ++nodes[op.correlation_id];
  }
  EXPECT_EQ(nodes.size(), static_cast<size_t>(kSteps));
  for (const auto& [id, count] : nodes) EXPECT_EQ(count, nodes.begin()->second) << "replay " << id;
  ExpectOneCallForEachOperation(received);
}

TEST(AgentOnSimulatedGpu, KindRefusedByTheLibrary_IsAskedForOnce) {
  // Long enough for many rounds of the thread that keeps the level.
  const Received received =
      RunUnderAgent({"decode_workload", "--steps", "3000"}, {"SIMGPU_CUPTI_FAULT=no_graph_trace"});
  ASSERT_EQ(received.exit_code, 0) << received.output;
  ASSERT_FALSE(received.counters.empty());
  EXPECT_EQ(received.counters[static_cast<size_t>(wire::Counter::kCuptiErrors)], 1u);
}

// What CUPTI spends around a callback is measured in the process and counts as cost.
TEST(AgentOnSimulatedGpu, DearCallbacks_AreMeasuredAndCounted) {
  const std::vector<std::string> command = {"decode_workload", "--steps", "2000"};
  const Received cheap = RunUnderAgent(command), dear = RunUnderAgent(command, {"SIMGPU_CUPTI_CALLBACK_NS=5000"});
  ASSERT_EQ(dear.exit_code, 0) << dear.output;
  EXPECT_GE(dear.callback_ns, 5000u);
  EXPECT_LT(dear.callback_ns, 50'000u);
  EXPECT_LT(cheap.callback_ns, 5000u);
  EXPECT_EQ(dear.cost_limit_ppm, 10'000u);
  // Some ten callbacks a step of 0.4 ms.
  EXPECT_GT(dear.cost_ppm, 2 * cheap.cost_ppm);
  EXPECT_GT(dear.cost_ppm, 20'000u);
}

TEST(AgentOnSimulatedGpu, LevelOff_SendsNoEvent) {
  const Received received = RunUnderAgent(Decode(), {"STALLSCOPE_LEVEL=off"});
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_TRUE(received.calls.empty());
  EXPECT_TRUE(received.ops.empty());
}

TEST(AgentOnSimulatedGpu, HeldByAnotherTool_IsSaidAndTakenBackWhenFree) {
  const Received received = RunUnderAgent({"cupti_holder", "2.5"});
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_TRUE(Has(received.states, kCuptiTaken));
  EXPECT_TRUE(Has(received.states, kCuptiReturned));
  EXPECT_FALSE(Has(received.states, kCuptiActive));
  EXPECT_FALSE(received.ops.empty());
  EXPECT_EQ(CountOf(received, CudaCallClass::kSyncDevice), 2);  // seen without CUPTI too
}

TEST(AgentOnSimulatedGpu, NoCupti_CallsAreStillSeenAndSaySo) {
  // A folder with the simulated runtime and no libcupti in it.
  const std::string build = getenv("STALLSCOPE_BUILD");
  char folder[] = "/tmp/stallscope-nocupti-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const char* names[] = {"libcudart.so.13", "libsimgpu.so"};
  for (const char* name : names) {
    ASSERT_EQ(symlink((build + "/lib/simgpu/" + name).c_str(), (std::string(folder) + "/" + name).c_str()), 0);
  }
  const Received received = RunUnderAgent(Decode(), {"LD_LIBRARY_PATH=" + std::string(folder)});
  for (const char* name : names) unlink((std::string(folder) + "/" + name).c_str());
  rmdir(folder);
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_TRUE(Has(received.states, kCuptiMissing));
  EXPECT_EQ(CountOf(received, CudaCallClass::kGraphLaunch), kSteps);
  EXPECT_TRUE(received.ops.empty());
  for (const ReceivedCall& call : received.calls) {
    EXPECT_NE(call.flags & wire::kCudaFlagNoCupti, 0u) << call.name;
    EXPECT_NE(call.name.find("_v"), std::string::npos) << call.name;
  }
}

}  // namespace
}  // namespace stallscope::agent
