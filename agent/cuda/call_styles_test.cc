// Whichever way a program reaches the GPU, each of its calls is one record with its GPU work. On the simulated GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "agent/cupti/received_checks.h"
#include "agent/cupti/received_frames.h"

namespace stallscope::agent {
namespace {

constexpr int kLaunches = 60;

int LaunchesIn(const Received& received) {
  int count = 0;
  for (const ReceivedCall& call : received.calls) {
    count += call.call_class == static_cast<uint32_t>(wire::CudaCallClass::kLaunch);
  }
  return count;
}

std::set<std::string> NamesIn(const Received& received) {
  std::set<std::string> names;
  for (const ReceivedCall& call : received.calls) {
    if (call.call_class == static_cast<uint32_t>(wire::CudaCallClass::kLaunch)) names.insert(call.name);
  }
  return names;
}

void ExpectEveryLaunchOnce(const Received& received) {
  ASSERT_EQ(received.exit_code, 0) << received.output;
  EXPECT_EQ(received.output, "60 launches\n");
  EXPECT_EQ(LaunchesIn(received), kLaunches);
  EXPECT_EQ(received.ops.size(), static_cast<size_t>(kLaunches));
  ExpectOneCallForEachOperation(received);
  const std::set<std::string> names = NamesIn(received);
  for (const char* name : {"cudaLaunchKernel_v7000", "cudaLaunchKernel_ptsz_v7000", "__cudaLaunchKernel_v13000",
                           "cudaLaunchKernelExC_v11060", "cuLaunchKernel"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  std::set<uint64_t> streams;
  for (const ReceivedCall& call : received.calls) {
    if (call.call_class == static_cast<uint32_t>(wire::CudaCallClass::kLaunch)) streams.insert(call.stream);
  }
  EXPECT_EQ(streams.size(), 1u) << "each call names the one stream";
}

TEST(CallStyles, SharedRuntime_EachCallIsOneRecord) { ExpectEveryLaunchOnce(RunUnderAgent({"cuda_call_styles"})); }

// Nothing can be interposed: the agent comes in as an injection and sees all by callback.
TEST(CallStyles, RuntimeInsideTheProgram_EachCallIsOneRecord) {
  const std::string agent = std::string(std::getenv("STALLSCOPE_BUILD")) + "/lib/libstallscope.so";
  ExpectEveryLaunchOnce(RunUnderAgent({"cuda_call_styles_static"}, {"CUDA_INJECTION64_PATH=" + agent}));
  ExpectEveryLaunchOnce(RunUnderAgent({"cuda_call_styles_static"}, {"CUDA_INJECTION64_PATH=" + agent, "LD_PRELOAD="}));
}

// Without CUPTI, what is interposed is still known, and that it is not everything.
TEST(CallStyles, CuptiRefused_InterposedCallsGoOnWithoutWork) {
  const Received received = RunUnderAgent({"cuda_call_styles"}, {"SIMGPU_CUPTI_FAULT=busy"});
  ASSERT_EQ(received.exit_code, 0);
  EXPECT_EQ(LaunchesIn(received), 40) << "four of six ways go through the shared runtime";
  EXPECT_TRUE(received.ops.empty());
  for (const ReceivedCall& call : received.calls) EXPECT_NE(call.flags & wire::kCudaFlagNoCupti, 0u) << call.name;
}

}  // namespace
}  // namespace stallscope::agent
