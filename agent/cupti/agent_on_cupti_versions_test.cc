// The agent on simulated libraries of several CUDA versions, and on libraries that misbehave as public bug reports say
// real ones did: every fault is counted under its own name, and none becomes a number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "agent/cupti/received_checks.h"
#include "agent/cupti/received_frames.h"
#include "proto/wire/calls.h"
#include "proto/wire/shm.h"

namespace stallscope::agent {
namespace {

using wire::Counter;
using wire::GpuOpKind;

constexpr uint32_t kCuptiActive = 2, kCuptiTaken = 3;  // stallscope.v1.State.What
constexpr int kSteps = 200;

Received DecodeWith(const std::vector<std::string>& variables, int steps = kSteps) {
  return RunUnderAgent({"decode_workload", "--steps", std::to_string(steps)}, variables);
}
Received DecodeWithFault(const std::string& fault, const char* level = "budget") {
  return DecodeWith({"SIMGPU_CUPTI_FAULT=" + fault, std::string("STALLSCOPE_LEVEL=") + level});
}

size_t EnqueuingCalls(const Received& received) {
  return static_cast<size_t>(std::count_if(received.calls.begin(), received.calls.end(), Enqueues));
}

// No operation ends after the program's last call, begins before its first one, or is longer than its life.
void ExpectPlausibleTimes(const Received& received) {
  uint64_t first_ns = UINT64_MAX, last_ns = 0;
  for (const ReceivedCall& call : received.calls) {
    first_ns = std::min(first_ns, call.begin_ns);
    last_ns = std::max(last_ns, call.begin_ns);
  }
  for (const ReceivedOp& op : received.ops) {
    EXPECT_GE(op.begin_ns, first_ns);
    EXPECT_LE(op.begin_ns + op.duration_ns, last_ns + 1'000'000'000u);
  }
}

class CuptiVersion : public testing::TestWithParam<const char*> {};

TEST_P(CuptiVersion, GraphDecode_ArrivesOnceAndMatches) {
  const Received received = DecodeWith({std::string("SIMGPU_CUPTI_LAYOUT=") + GetParam(), "STALLSCOPE_LEVEL=budget"});
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_EQ(std::count(received.states.begin(), received.states.end(), kCuptiActive), 1);
  ExpectOneCallForEachOperation(received);
  EXPECT_EQ(std::count_if(received.ops.begin(), received.ops.end(),
                          [](const ReceivedOp& op) { return op.kind == static_cast<uint32_t>(GpuOpKind::kGraph); }),
            kSteps);
  EXPECT_EQ(CounterOf(received, Counter::kGpuUnknownKind), 0u);
  EXPECT_EQ(CounterOf(received, Counter::kCuptiErrors), 0u);
}

TEST_P(CuptiVersion, Nodes_CarryNamesAndTheirGraph) {
  const Received received =
      DecodeWith({std::string("SIMGPU_CUPTI_LAYOUT=") + GetParam(), "STALLSCOPE_LEVEL=nodes"}, 20);
  ASSERT_EQ(received.exit_code, 0) << received.output;
  size_t nodes = 0;
  for (const ReceivedOp& op : received.ops) {
    if (op.kind != static_cast<uint32_t>(GpuOpKind::kKernel)) continue;
    EXPECT_FALSE(op.name.empty());
    nodes += op.graph != 0;
  }
  EXPECT_GT(nodes, 20u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, CuptiVersion, testing::Values("11.8", "12.0", "12.4", "12.6", "12.8", "12.9", "13.0"),
                         [](const auto& layout) {
                           std::string name = layout.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return "Cuda" + name;
                         });

struct CountedFault {
  const char* fault;
  Counter counter;
};
class CuptiFault : public testing::TestWithParam<CountedFault> {};

// Each third record is hit, or all of them: what is missing among the operations is what the counter says.
TEST_P(CuptiFault, IsCountedUnderItsNameAndMakesNoNumber) {
  const Received received = DecodeWithFault(GetParam().fault);
  ASSERT_EQ(received.exit_code, 0) << received.output;
  const uint64_t refused = CounterOf(received, GetParam().counter);
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(received.ops.size() + refused, EnqueuingCalls(received));
  for (uint32_t i = 0; i < received.counters.size(); ++i) {
    const auto counter = static_cast<Counter>(i);
    if (counter != GetParam().counter && counter != Counter::kSocketRetries) {
      EXPECT_EQ(received.counters[i], 0u) << "counter " << i;
    }
  }
  ExpectPlausibleTimes(received);
}

INSTANTIATE_TEST_SUITE_P(Times, CuptiFault,
                         testing::Values(CountedFault{"zero_times:3", Counter::kGpuZeroTime},
                                         CountedFault{"reversed_times:3", Counter::kGpuReversedTime},
                                         CountedFault{"early_records:1000000", Counter::kGpuBeforeLaunch},
                                         CountedFault{"absurd_times:3", Counter::kGpuOtherClock}),
                         [](const auto& fault) {
                           std::string name = fault.param.fault;
                           name.resize(name.find(':'));
                           name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
                           return name;
                         });

TEST(CuptiTrouble, LostBuffers_AreCountedByTheLibrarysOwnNumber) {
  const Received received = DecodeWithFault("lost_buffers:2", "nodes");
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_GT(CounterOf(received, Counter::kCuptiDropped), 0u);
  ExpectPlausibleTimes(received);
}

TEST(CuptiTrouble, LateDelivery_LosesNothingThatCameBeforeTheEnd) {
  const Received received = DecodeWith({"SIMGPU_CUPTI_FAULT=late_delivery:3"}, 4000);
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_FALSE(received.ops.empty());
  ExpectPlausibleTimes(received);
}

TEST(CuptiTrouble, NeverDelivered_LeavesItsCallsWithoutWorkAndNothingElse) {
  const Received received = DecodeWithFault("never_delivered:2");
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_LT(received.ops.size(), EnqueuingCalls(received));
  EXPECT_GT(CounterOf(received, Counter::kCuptiBuffersWithheld), 0u);
  ExpectPlausibleTimes(received);
}

TEST(CuptiTrouble, FlushThatTakesTooLong_HoldsTheEndUpOnceAndIsCounted) {
  const Received received = DecodeWithFault("slow_flush:3000");
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_TRUE(received.goodbye);
  EXPECT_EQ(CounterOf(received, Counter::kFinalFlushTimeouts), 1u);
}

TEST(CuptiTrouble, KernelThatNeverEnds_HoldsNothingUpAtTheEnd) {
  const Received received = DecodeWithFault("endless_kernel:1,withheld_buffers");
  EXPECT_EQ(received.exit_code, 0) << received.output;
  EXPECT_TRUE(received.goodbye);
  ExpectPlausibleTimes(received);
}

TEST(CuptiTrouble, ClockThatJumps_CostsCountedRecordsAndNoStrangeTimes) {
  const Received received = DecodeWithFault("clock_jump:500");
  ASSERT_EQ(received.exit_code, 0) << received.output;
  ExpectPlausibleTimes(received);
}

TEST(CuptiTrouble, OldLibraryThatCrashesOnANullBuffer_GetsNone) {
  const Received received = DecodeWithFault("null_buffer_crash", "nodes");
  EXPECT_EQ(received.exit_code, 0) << received.output;
}

TEST(CuptiTrouble, RecycledGraphIds_StayWithTheirLaunches) {
  const Received received = DecodeWithFault("recycled_graph_ids:2");
  ASSERT_EQ(received.exit_code, 0) << received.output;
  ExpectOneCallForEachOperation(received);
}

TEST(CuptiTrouble, TakeoverInTheMiddle_IsSeenAndLeavesPlausibleTimesOnly) {
  const Received received = DecodeWith({"SIMGPU_CUPTI_FAULT=takeover:2000"}, 24'000);
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_EQ(std::count(received.states.begin(), received.states.end(), kCuptiTaken), 1);
  EXPECT_LT(received.ops.size(), EnqueuingCalls(received));
  ExpectPlausibleTimes(received);
}

TEST(CuptiTrouble, NoDriver_IsSaidAndTheCallsGoOn) {
  const Received received = DecodeWithFault("no_driver");
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_TRUE(received.ops.empty());
  EXPECT_GT(EnqueuingCalls(received), 0u);
}

}  // namespace
}  // namespace stallscope::agent
