// How the agent lets go of CUPTI: detached, at the end of the process, in a forked child. On the simulated GPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/cupti/received_checks.h"
#include "agent/cupti/received_frames.h"
#include "proto/wire/shm.h"

namespace stallscope::agent {
namespace {

// stallscope.v1.State.What
constexpr uint32_t kLevel = 1, kCuptiActive = 2, kDetached = 8;

int64_t CountOf(const Received& received, uint32_t what) {
  return std::count(received.states.begin(), received.states.end(), what);
}

uint64_t LastOperationNs(const Received& received) {
  uint64_t last_ns = 0;
  for (const ReceivedOp& op : received.ops) last_ns = std::max(last_ns, op.begin_ns);
  return last_ns;
}

uint64_t TimeOf(const Received& received, uint32_t what) {
  for (size_t i = 0; i < received.states.size(); ++i) {
    if (received.states[i] == what) return received.state_times_ns[i];
  }
  return 0;
}

// What a client that subscribes after the detach sees: CUPTI is free, and its own session is undisturbed.
TEST(AgentLeavesCupti, Detached_EverythingIsFlushedAndCuptiIsFree) {
  const Received received = RunUnderAgent({"cupti_client", "exclusive", "1.5"}, {}, {{700, -1, true}});
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(CountOf(received, kCuptiActive), 1);
  EXPECT_EQ(CountOf(received, kDetached), 1);
  EXPECT_TRUE(received.goodbye);
  EXPECT_EQ(received.output, "subscribe 0\ncallbacks 14 unsubscribe 0\n");
  // What was done until then has all come; letting go of CUPTI takes it some 120 ms (library_clock.h).
  for (const ReceivedCall& call : received.calls) {
    if (Enqueues(call) && call.begin_ns + 300'000'000 < TimeOf(received, kDetached)) {
      EXPECT_TRUE(std::any_of(received.ops.begin(), received.ops.end(), [&call](const ReceivedOp& op) {
        return op.correlation_id == call.correlation_id;
      })) << call.correlation_id;
    }
  }
}

TEST(AgentLeavesCupti, DetachedWithTheExplicitFlag_EndsCuptiAtTheNextCall) {
  const Received received =
      RunUnderAgent({"cupti_client", "exclusive", "1.5"}, {"STALLSCOPE_CUPTI_FINALIZE=1"}, {{700, -1, true}});
  EXPECT_EQ(received.exit_code, 0);
  EXPECT_EQ(CountOf(received, kDetached), 1);
}

// Set-up waits for the first order to record: CUDA has been at work for a while by then.
TEST(AgentLeavesCupti, OffAtFirst_IsSetUpWhenTheLevelIsRaised) {
  const Received received =
      RunUnderAgent({"cupti_client", "nothing", "1"}, {"STALLSCOPE_LEVEL=off"}, {{600, 1, false}});
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(CountOf(received, kCuptiActive), 1);
  ASSERT_FALSE(received.ops.empty());
  for (const ReceivedOp& op : received.ops) EXPECT_GT(op.begin_ns, TimeOf(received, kLevel));
}

TEST(AgentLeavesCupti, LevelSwitchedLive_NodesComeAndGo) {
  const Received received =
      RunUnderAgent({"decode_workload", "--steps", "3000"}, {}, {{300, 3, false}, {600, 1, false}});
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_EQ(CountOf(received, kLevel), 2);
  size_t graphs = 0, nodes = 0;
  for (const ReceivedOp& op : received.ops) {
    graphs += op.kind == static_cast<uint32_t>(wire::GpuOpKind::kGraph);
    nodes += op.kind == static_cast<uint32_t>(wire::GpuOpKind::kKernel) && op.graph != 0;
  }
  EXPECT_GT(graphs, 100u);
  EXPECT_GT(nodes, 100u);
  EXPECT_GT(LastOperationNs(received), 0u);
}

TEST(AgentLeavesCupti, ExitWithWorkInFlight_DoesNotHang) {
  const Received received = RunUnderAgent({"cupti_client", "in_flight", "0"}, {"SIMGPU_CUPTI_FAULT=endless_kernel:1"});
  EXPECT_EQ(received.exit_code, 0);
  EXPECT_TRUE(received.goodbye);
}

TEST(AgentLeavesCupti, ForkedChild_NeverCallsCupti) {
  const Received received = RunUnderAgent({"cupti_client", "fork", "0.3"});
  EXPECT_EQ(received.exit_code, 0);
  EXPECT_EQ(received.output, "child ended with 0 after 0 flushes\n");
}

}  // namespace
}  // namespace stallscope::agent
