#include "agent/cuda/call_table.h"

#include <cuda_runtime_api.h>
#include <generated_cuda_runtime_api_meta.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stallscope::agent {
namespace {

using wire::CudaCallClass;
using wire::CudaDomain;

TEST(CallTable, EveryRow_IsFoundByItsCallbackId) {
  std::set<std::pair<int, uint16_t>> ids;
  for (uint32_t i = 0; i < kCudaCallCount; ++i) {
    const CudaCallInfo& call = kCudaCalls[i];
    EXPECT_EQ(FindCudaCall(call.domain, call.callback_id), &call) << call.symbol;
    EXPECT_TRUE(ids.insert({static_cast<int>(call.domain), call.callback_id}).second)
        << call.symbol << " shares its id";
    EXPECT_EQ(std::string(call.cupti_name).rfind(call.symbol, 0), 0u);
  }
}

TEST(CallTable, UnknownId_IsNotFound) {
  EXPECT_EQ(FindCudaCall(CudaDomain::kRuntime, 0), nullptr);
  EXPECT_EQ(FindCudaCall(CudaDomain::kRuntime, 10), nullptr);  // cudaGetLastError: not recorded
  EXPECT_EQ(FindCudaCall(CudaDomain::kDriver, 1u << 20), nullptr);
}

// The numbers are append-only in CUPTI and stored in captures; these are known from its headers since 11.
TEST(CallTable, WellKnownCalls_HaveTheirNumbers) {
  EXPECT_STREQ(FindCudaCall(CudaDomain::kRuntime, 211)->cupti_name, "cudaLaunchKernel_v7000");
  EXPECT_STREQ(FindCudaCall(CudaDomain::kRuntime, 505)->cupti_name, "__cudaLaunchKernel_v13000");
  EXPECT_STREQ(FindCudaCall(CudaDomain::kRuntime, 41)->cupti_name, "cudaMemcpyAsync_v3020");
  EXPECT_STREQ(FindCudaCall(CudaDomain::kDriver, 307)->cupti_name, "cuLaunchKernel");
  EXPECT_STREQ(FindCudaCall(CudaDomain::kDriver, 514)->cupti_name, "cuGraphLaunch");
}

TEST(CallTable, CopyParameters_GiveStreamBytesAndKind) {
  cudaMemcpyAsync_v3020_params block = {};
  block.count = 4096;
  block.kind = cudaMemcpyDeviceToHost;
  block.stream = reinterpret_cast<cudaStream_t>(0x77);
  const CudaCallArguments arguments = ReadCallbackParameters(*FindCudaCall(CudaDomain::kRuntime, 41), &block, true);
  EXPECT_EQ(arguments.object, 0x77u);
  EXPECT_EQ(arguments.argument, 4096u);
  EXPECT_EQ(arguments.copy, wire::CopyKind::kDeviceToHost);
}

TEST(CallTable, WrittenHandle_IsReadOnlyAfterSuccess) {
  const CudaCallInfo* call = nullptr;
  for (uint32_t i = 0; i < kCudaCallCount; ++i) {
    if (std::string(kCudaCalls[i].symbol) == "cudaGraphInstantiateWithFlags") call = &kCudaCalls[i];
  }
  ASSERT_NE(call, nullptr);
  auto exec = reinterpret_cast<cudaGraphExec_t>(0xabc);
  cudaGraphInstantiateWithFlags_v11040_params block = {};
  block.pGraphExec = &exec;
  EXPECT_EQ(ReadCallbackParameters(*call, &block, true).argument, 0xabcu);
  EXPECT_EQ(ReadCallbackParameters(*call, &block, false).argument, 0u);
}

TEST(CallTable, BatchOfCopies_CountsAllItsBytesAndFollowsNothingAfterAFailure) {
  const size_t sizes[] = {100, 28};
  cudaMemcpyBatchAsync_v13000_params block = {};
  block.sizes = sizes;
  block.count = 2;
  block.stream = reinterpret_cast<cudaStream_t>(0x77);
  const CudaCallInfo& call = *FindCudaCall(CudaDomain::kRuntime, 509);
  EXPECT_EQ(ReadCallbackParameters(call, &block, true).argument, 128u);
  EXPECT_EQ(ReadCallbackParameters(call, &block, true).object, 0x77u);
  block.sizes = reinterpret_cast<const size_t*>(8);
  EXPECT_EQ(ReadCallbackParameters(call, &block, false).argument, 0u);
}

TEST(CallTable, NullConfiguration_IsNotFollowed) {
  const cudaLaunchKernelExC_v11060_params block = {};
  EXPECT_EQ(ReadCallbackParameters(*FindCudaCall(CudaDomain::kRuntime, 430), &block, false).object, 0u);
}

}  // namespace
}  // namespace stallscope::agent
