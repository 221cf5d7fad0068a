// Other clients of CUPTI in a process with the agent, on the simulated GPU: they get what they would get without it, the
// agent says what it misses, and comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "agent/cupti/received_checks.h"
#include "agent/cupti/received_frames.h"
#include "proto/wire/calls.h"
#include "proto/wire/shm.h"

namespace stallscope::agent {
namespace {

// stallscope.v1.State.What
constexpr uint32_t kCuptiActive = 2, kCuptiTaken = 3, kCuptiReturned = 5;

Received ClientUnderAgent(const std::string& mode, const char* seconds) {
  return RunUnderAgent({"cupti_client", mode, seconds});
}

std::string OutputWithoutAgent(const std::string& mode) {
  return RunUnderAgent({"cupti_client", mode, "0"}, {"LD_PRELOAD="}).output;
}

int64_t CountOf(const Received& received, uint32_t what) {
  return std::count(received.states.begin(), received.states.end(), what);
}

// When CUPTI went to another, and when it came back; 0 when it did not.
uint64_t TimeOf(const Received& received, uint32_t what) {
  for (size_t i = 0; i < received.states.size(); ++i) {
    if (received.states[i] == what) return received.state_times_ns[i];
  }
  return 0;
}

int OperationsBetween(const Received& received, uint64_t from_ns, uint64_t to_ns) {
  int count = 0;
  for (const ReceivedOp& op : received.ops) count += op.begin_ns >= from_ns && op.begin_ns < to_ns;
  return count;
}

int FillsBetween(const Received& received, uint64_t from_ns, uint64_t to_ns) {
  int count = 0;
  for (const ReceivedCall& call : received.calls) {
    count += call.call_class == static_cast<uint32_t>(wire::CudaCallClass::kMemset) && call.begin_ns >= from_ns &&
             call.begin_ns < to_ns;
  }
  return count;
}

TEST(AgentBesideOtherClients, TorchStyleProfiler_GetsTheSameAndTheAgentComesBack) {
  const Received received = ClientUnderAgent("torch", "2.5");
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(received.output, OutputWithoutAgent("torch"));
  EXPECT_EQ(received.output, "fills 100 calls 101 strange buffers 0 strange times 0\n");
  EXPECT_EQ(CountOf(received, kCuptiTaken), 1);
  EXPECT_EQ(CountOf(received, kCuptiReturned), 1);
  const uint64_t taken_ns = TimeOf(received, kCuptiTaken), returned_ns = TimeOf(received, kCuptiReturned);
  // Before and after, every fill has its record; between, the calls are still seen.
  EXPECT_EQ(OperationsBetween(received, 0, taken_ns), FillsBetween(received, 0, taken_ns));
  EXPECT_GT(FillsBetween(received, taken_ns, returned_ns), 100);
  EXPECT_GT(OperationsBetween(received, returned_ns, UINT64_MAX), 100);
  EXPECT_EQ(CounterOf(received, wire::Counter::kCuptiBuffersLost), 0u);
  EXPECT_EQ(CounterOf(received, wire::Counter::kGpuOtherClock), 0u);
}

TEST(AgentBesideOtherClients, SecondSubscriber_IsServedAndTheAgentComesBack) {
  const Received received = ClientUnderAgent("subscriber", "2.5");
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(received.output, OutputWithoutAgent("subscriber"));
  EXPECT_EQ(received.output, "subscribe 0\ncallbacks 14 unsubscribe 0\n");
  EXPECT_EQ(CountOf(received, kCuptiTaken), 1);
  EXPECT_EQ(CountOf(received, kCuptiReturned), 1);
  for (size_t i = 0; i < received.states.size(); ++i) {
    if (received.states[i] == kCuptiTaken) {
      EXPECT_EQ(received.state_texts[i], "cupti_client");
    }
  }
}

TEST(AgentBesideOtherClients, KindsSwitchedOffUnseen_AreSwitchedOnAgain) {
  const Received received = ClientUnderAgent("switch_off", "4");
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(CountOf(received, kCuptiTaken), 0);
  EXPECT_EQ(CounterOf(received, wire::Counter::kCuptiSwitchedOff), 1u);
  ASSERT_FALSE(received.ops.empty());
  // Records came again after the gap.
  uint64_t last_call_ns = 0, last_op_ns = 0;
  for (const ReceivedCall& call : received.calls) last_call_ns = std::max(last_call_ns, call.begin_ns);
  for (const ReceivedOp& op : received.ops) last_op_ns = std::max(last_op_ns, op.begin_ns);
  EXPECT_LT(last_call_ns, last_op_ns + 500'000'000u);
}

TEST(AgentBesideOtherClients, BuffersTakenUnseen_AreLeftToWhoTookThem) {
  const Received received = ClientUnderAgent("hidden", "3");
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(CountOf(received, kCuptiTaken), 1);
  EXPECT_EQ(CountOf(received, kCuptiReturned), 0);
  const uint64_t taken_ns = TimeOf(received, kCuptiTaken);
  EXPECT_GT(FillsBetween(received, taken_ns, UINT64_MAX), 20) << "calls are still seen";
  EXPECT_EQ(OperationsBetween(received, taken_ns, UINT64_MAX), 0);
}

TEST(AgentBesideOtherClients, CuptiFinalizedByAnother_IsNeverTakenAgain) {
  const Received received = ClientUnderAgent("finalize", "2.5");
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(received.output, OutputWithoutAgent("finalize"));
  EXPECT_EQ(CountOf(received, kCuptiTaken), 1);
  EXPECT_EQ(CountOf(received, kCuptiReturned), 0);
}

std::string FolderOf133() { return std::string(std::getenv("STALLSCOPE_BUILD")) + "/lib/simgpu/cupti-13.3"; }

// A library of 13.3: a second subscriber that shares, as JAX and newer torch have it.
TEST(AgentBesideOtherClients, SharingSubscriber_WorksBesideTheAgent) {
  const std::string path = "LD_LIBRARY_PATH=" + FolderOf133() + ":" + std::getenv("STALLSCOPE_BUILD") + "/lib/simgpu";
  const Received received = RunUnderAgent({"cupti_sharing_client", "0.5"}, {path});
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(received.output, "subscribe 0\nfills 100\nunsubscribe 0\n");
  EXPECT_EQ(RunUnderAgent({"cupti_sharing_client", "0"}, {path, "LD_PRELOAD="}).output, received.output);
  EXPECT_EQ(CountOf(received, kCuptiTaken), 0);
  ASSERT_EQ(CountOf(received, kCuptiActive), 1);
  for (size_t i = 0; i < received.states.size(); ++i) {
    if (received.states[i] == kCuptiActive) {
      EXPECT_EQ(received.state_texts[i], "shared with others");
    }
  }
  EXPECT_EQ(received.ops.size(), static_cast<size_t>(FillsBetween(received, 0, UINT64_MAX)));
}

// The same library, and a client that is linked to the process-wide functions.
TEST(AgentBesideOtherClients, ProcessWideClientOfANewLibrary_IsMetInItsOwnInterface) {
  const std::string path = "LD_LIBRARY_PATH=" + FolderOf133() + ":" + std::getenv("STALLSCOPE_BUILD") + "/lib/simgpu";
  const Received received = RunUnderAgent({"cupti_client", "torch", "2.5"}, {path});
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(received.output, "fills 100 calls 101 strange buffers 0 strange times 0\n");
  EXPECT_EQ(CountOf(received, kCuptiReturned), 1);
}

// As when the agent is attached: CUDA has been at work for a while, and nothing is interposed.
TEST(AgentBesideOtherClients, LoadedLate_SeesCallsAndWorkFromThenOn) {
  const std::string agent = std::string(std::getenv("STALLSCOPE_BUILD")) + "/lib/libstallscope.so";
  const Received received =
      RunUnderAgent({"cupti_client", "late", "1"}, {"LD_PRELOAD=", "STALLSCOPE_TEST_AGENT=" + agent});
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(CountOf(received, kCuptiActive), 1);
  EXPECT_TRUE(received.device_is_simulated);
  EXPECT_GT(received.ops.size(), 100u);
  EXPECT_EQ(received.ops.size(), static_cast<size_t>(FillsBetween(received, 0, UINT64_MAX)));
}

}  // namespace
}  // namespace stallscope::agent
