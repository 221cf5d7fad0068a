// Whichever way a program reaches the GPU, each of its calls is one record with its GPU work. On the simulated GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "agent/cupti/received_checks.h"
#include "agent/cupti/received_frames.h"

namespace stallscope::agent {
namespace {

// Of the program itself: eight and four ways, ten times each; linked to libcuda, two and one ways more. The kernel that
// makes the graph is recorded too, and runs only with it.
constexpr int kLaunches = 80, kGraphLaunches = 40, kCapturedLaunches = 1;
constexpr int kLinkedLaunches = 20, kLinkedGraphLaunches = 10;

int CallsIn(const Received& received, wire::CudaCallClass call_class) {
  int count = 0;
  for (const ReceivedCall& call : received.calls) count += call.call_class == static_cast<uint32_t>(call_class);
  return count;
}
int LaunchesIn(const Received& received) { return CallsIn(received, wire::CudaCallClass::kLaunch); }
int GraphLaunchesIn(const Received& received) { return CallsIn(received, wire::CudaCallClass::kGraphLaunch); }

std::map<std::string, int> CountByName(const Received& received) {
  std::map<std::string, int> count;
  for (const ReceivedCall& call : received.calls) ++count[call.name];
  return count;
}

void ExpectEveryLaunchOnce(const Received& received, int linked_launches = 0, int linked_graph_launches = 0) {
  ASSERT_EQ(received.exit_code, 0) << received.output;
  const int launches = kLaunches + linked_launches, graph_launches = kGraphLaunches + linked_graph_launches;
  EXPECT_EQ(received.output,
            std::to_string(launches) + " launches " + std::to_string(graph_launches) + " graph launches\n");
  EXPECT_EQ(LaunchesIn(received), launches + kCapturedLaunches);
  EXPECT_EQ(GraphLaunchesIn(received), graph_launches);
  ExpectOneCallForEachOperation(received);
  std::map<std::string, int> count = CountByName(received);
  EXPECT_EQ(count["cudaLaunchKernel_v7000"], 10 + kCapturedLaunches);
  for (const char* name :
       {"cudaLaunchKernel_ptsz_v7000", "__cudaLaunchKernel_v13000", "cudaLaunchKernelExC_v11060", "cuLaunchKernel_ptsz",
        "cuLaunchKernelEx_ptsz", "cudaGraphLaunch_v10000", "cudaGraphLaunch_ptsz_v10000", "cuGraphLaunch_ptsz"}) {
    EXPECT_EQ(count[name], 10) << name;
  }
  EXPECT_EQ(count["cuLaunchKernel"], 10 + linked_launches / 2);
  EXPECT_EQ(count["cuLaunchKernelEx"], 10 + linked_launches / 2);
  EXPECT_EQ(count["cuGraphLaunch"], 10 + linked_graph_launches);
  std::set<uint64_t> streams, graphs;
  for (const ReceivedCall& call : received.calls) {
    const auto call_class = static_cast<wire::CudaCallClass>(call.call_class);
    if (call_class == wire::CudaCallClass::kLaunch) streams.insert(call.stream);
    if (call_class == wire::CudaCallClass::kGraphLaunch) graphs.insert(call.argument);
  }
  EXPECT_EQ(streams.size(), 1u) << "each launch names the one stream";
  EXPECT_EQ(graphs.size(), 1u) << "each graph launch names the one graph";
}

TEST(CallStyles, SharedRuntime_EachCallIsOneRecord) { ExpectEveryLaunchOnce(RunUnderAgent({"cuda_call_styles"})); }

// Nothing can be interposed: the agent comes in as an injection and sees all by callback.
TEST(CallStyles, RuntimeInsideTheProgram_EachCallIsOneRecord) {
  const std::string agent = std::string(std::getenv("STALLSCOPE_BUILD")) + "/lib/libstallscope.so";
  ExpectEveryLaunchOnce(RunUnderAgent({"cuda_call_styles_static"}, {"CUDA_INJECTION64_PATH=" + agent}));
  ExpectEveryLaunchOnce(RunUnderAgent({"cuda_call_styles_static"}, {"CUDA_INJECTION64_PATH=" + agent, "LD_PRELOAD="}));
}

// Rarely used forms of copies, fills and the like: each is one record that says how much and on which stream.
void ExpectRareCallsOnce(const Received& received, const char* batch_copy, const char* batch_copy_3d,
                         bool runtime_is_known_to_cupti) {
  ASSERT_EQ(received.exit_code, 0) << received.output;
  constexpr uint64_t kBytes = 512;
  const uint64_t stream = std::stoull(received.output.substr(received.output.find("0x")), nullptr, 16);
  struct Expected {
    std::string name;
    wire::CudaCallClass call_class;
    uint64_t argument, stream;
  };
  const Expected rare[] = {{"cudaMalloc3D_v3020", wire::CudaCallClass::kAlloc, kBytes, 0},
                           {"cudaMemset3D_v3020", wire::CudaCallClass::kMemset, kBytes, 0},
                           {"cudaMemset3DAsync_v3020", wire::CudaCallClass::kMemset, kBytes, stream},
                           {"cudaMemcpy3DPeer_v4000", wire::CudaCallClass::kCopySync, kBytes, 0},
                           {"cudaMemcpy3DPeerAsync_v4000", wire::CudaCallClass::kCopyAsync, kBytes, stream},
                           {batch_copy, wire::CudaCallClass::kCopyAsync, kBytes, stream},
                           {batch_copy_3d, wire::CudaCallClass::kCopyAsync, kBytes, stream},
                           {"cudaMemPrefetchAsync", wire::CudaCallClass::kOther, 4096, stream},
                           {"cudaStreamAddCallback_v5000", wire::CudaCallClass::kHostFunc, 0, stream}};
  for (const Expected& expected : rare) {
    int found = 0;
    for (const ReceivedCall& call : received.calls) {
      if (call.name.rfind(expected.name, 0) != 0) continue;
      ++found;
      EXPECT_EQ(call.call_class, static_cast<uint32_t>(expected.call_class)) << call.name;
      EXPECT_EQ(call.argument, expected.argument) << call.name;
      EXPECT_EQ(call.stream, expected.stream) << call.name;
      if (runtime_is_known_to_cupti || expected.name == batch_copy) {
        EXPECT_EQ(call.flags & wire::kCudaFlagNoCupti, 0u) << call.name;
      }
    }
    EXPECT_EQ(found, 1) << expected.name;
  }
  EXPECT_EQ(CallsIn(received, wire::CudaCallClass::kGraphBuild), 2) << "instantiated and destroyed";
}

TEST(CallStyles, RareCalls_EachIsOneRecordWithItsBytesAndStream) {
  const Received received = RunUnderAgent({"cuda_copy_styles"});
  ExpectRareCallsOnce(received, "cudaMemcpyBatchAsync_v13000", "cudaMemcpy3DBatchAsync_v13000", true);
  ExpectOneCallForEachOperation(received);
}

// Functions whose form CUDA 13 changed are read by the form of the runtime that is there.
TEST(CallStyles, RareCallsOfCuda12_AreReadInTheirOlderForm) {
#ifndef COPY_STYLES_12
  GTEST_SKIP() << "CUDA 12's headers are not here: tools/setup fetches them";
#endif
  ExpectRareCallsOnce(RunUnderAgent({"cuda_copy_styles_12"}), "cudaMemcpyBatchAsync", "cudaMemcpy3DBatchAsync", false);
}

// Hook and callback see the same call: one record.
TEST(CallStyles, LinkedToLibcuda_EachCallIsOneRecord) {
  ExpectEveryLaunchOnce(RunUnderAgent({"cuda_call_styles_linked"}), kLinkedLaunches, kLinkedGraphLaunches);
}

// Without CUPTI, what is interposed is still known, and that it is not everything: of what was asked of the driver by
// dlsym or cuGetProcAddress nothing is.
TEST(CallStyles, CuptiRefused_InterposedCallsGoOnWithoutWork) {
  for (const char* program : {"cuda_call_styles", "cuda_call_styles_linked"}) {
    const bool linked = std::string(program) == "cuda_call_styles_linked";
    const Received received = RunUnderAgent({program}, {"SIMGPU_CUPTI_FAULT=busy"});
    ASSERT_EQ(received.exit_code, 0);
    EXPECT_EQ(LaunchesIn(received), 40 + kCapturedLaunches + (linked ? kLinkedLaunches : 0)) << program;
    EXPECT_EQ(GraphLaunchesIn(received), 20 + (linked ? kLinkedGraphLaunches : 0)) << program;
    EXPECT_EQ(CountByName(received)["cuStreamSynchronize"], linked ? 1 : 0);
    EXPECT_TRUE(received.ops.empty());
    for (const ReceivedCall& call : received.calls) EXPECT_NE(call.flags & wire::kCudaFlagNoCupti, 0u) << call.name;
  }
}

}  // namespace
}  // namespace stallscope::agent
