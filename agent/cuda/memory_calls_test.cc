#include "agent/cuda/memory_calls.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <generated_cuda_meta.h>
#include <generated_cuda_runtime_api_meta.h>
//
#include <gtest/gtest.h>

#include <string>

#include "agent/cuda/call_record.h"
#include "agent/cuda/fake_agent.h"

namespace stallscope::agent {
namespace {

using wire::CudaDomain;
using wire::MemoryOperation;

const CudaCallInfo& Row(const std::string& symbol) {
  for (uint32_t i = 0; i < kCudaCallCount; ++i) {
    if (symbol == kCudaCalls[i].symbol) return kCudaCalls[i];
  }
  ADD_FAILURE() << symbol;
  return kCudaCalls[0];
}

class MemoryCalls : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    g_memory_records_come = false;
  }
  void TearDown() override { g_memory_records_come = false; }

  std::vector<RecordFields> Memory() {
    std::vector<RecordFields> memory;
    for (const RecordFields& record : Fake().records) {
      if (record.kind == wire::RecordKind::kMemory) memory.push_back(record);
    }
    return memory;
  }
  template <typename Parameters>
  void CallOf(const std::string& symbol, const Parameters& parameters, int32_t result = 0) {
    const CudaCallInfo& call = Row(symbol);
    OnCallbackEnter(call, 5, &parameters);
    OnCallbackExit(call, &parameters, result);
  }
};

TEST_F(MemoryCalls, AllocationAndRelease_TellAddressAndBytes) {
  void* written = reinterpret_cast<void*>(0x7000);
  CallOf("cudaMalloc", cudaMalloc_v3020_params{&written, 4096});
  CallOf("cudaFree", cudaFree_v3020_params{written});
  const auto memory = Memory();
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].call, static_cast<uint16_t>(MemoryOperation::kAllocate));
  EXPECT_EQ(memory[0].object, 0x7000u);
  EXPECT_EQ(memory[0].argument, 4096u);
  EXPECT_EQ(memory[0].id, 5u);
  EXPECT_EQ(memory[0].stack, wire::PackMemoryPlace(kDeviceMemory, 0, wire::kMemoryFlagNoCupti));
  EXPECT_EQ(memory[1].call, static_cast<uint16_t>(MemoryOperation::kRelease));
  EXPECT_EQ(memory[1].object, 0x7000u);
}

TEST_F(MemoryCalls, FailedAllocation_TellsNothingAndReadsNothing) {
  CallOf("cudaMalloc", cudaMalloc_v3020_params{reinterpret_cast<void**>(0x10), 4096}, 2);
  CallOf("cudaMalloc", cudaMalloc_v3020_params{nullptr, 4096});
  CallOf("cudaFree", cudaFree_v3020_params{nullptr});
  EXPECT_TRUE(Memory().empty());
}

TEST_F(MemoryCalls, WhileCuptiTells_OnlyWhatItDoesNotKnowIsToldHere) {
  g_memory_records_come = true;
  void* written = reinterpret_cast<void*>(0x7000);
  CallOf("cudaMalloc", cudaMalloc_v3020_params{&written, 4096});
  CallOf("cudaHostRegister", cudaHostRegister_v4000_params{reinterpret_cast<void*>(0x9000), 1 << 20, 0});
  CallOf("cudaHostUnregister", cudaHostUnregister_v4000_params{reinterpret_cast<void*>(0x9000)});
  CUmemGenericAllocationHandle handle = 77;
  cuMemCreate_params create = {};
  create.handle = &handle;
  create.size = 2 << 20;
  CallOf("cuMemCreate", create);
  const auto memory = Memory();
  ASSERT_EQ(memory.size(), 3u);
  EXPECT_EQ(memory[0].call, static_cast<uint16_t>(MemoryOperation::kRegister));
  EXPECT_EQ(memory[0].argument, 1u << 20);
  EXPECT_EQ(memory[1].call, static_cast<uint16_t>(MemoryOperation::kUnregister));
  EXPECT_EQ(memory[2].object, 77u);
  EXPECT_EQ(memory[2].argument, 2u << 20);
}

TEST_F(MemoryCalls, CallRecord_KeepsTheBytes) {
  void* written = reinterpret_cast<void*>(0x7000);
  CallOf("cudaMallocHost", cudaMallocHost_v3020_params{&written, 12345});
  CallOf("cudaMemPoolTrimTo", cudaMemPoolTrimTo_v11020_params{reinterpret_cast<cudaMemPool_t>(0x40), 64});
  ASSERT_EQ(Fake().records.size(), 4u);
  EXPECT_EQ(Fake().records[0].kind, wire::RecordKind::kCudaCall);
  EXPECT_EQ(Fake().records[0].argument, 12345u);
  EXPECT_EQ(Memory()[1].call, static_cast<uint16_t>(MemoryOperation::kPoolTrim));
  EXPECT_EQ(Memory()[1].object, 0x40u);
}

TEST_F(MemoryCalls, EveryMemoryCall_HasItsOperation) {
  for (uint32_t i = 0; i < kCudaCallCount; ++i) {
    if (!IsMemoryCall(kCudaCalls[i].call_class)) continue;
    alignas(16) const char zeros[256] = {};
    EXPECT_NE(ReadCallbackMemory(kCudaCalls[i], zeros, false).operation, MemoryOperation{0}) << kCudaCalls[i].symbol;
  }
}

}  // namespace
}  // namespace stallscope::agent
