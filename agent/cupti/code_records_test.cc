#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"
#include "agent/cupti/activity_bytes.h"
#include "agent/cupti/activity_decoder.h"

namespace stallscope::agent {
namespace {

using wire::CodeLoadKind;
using wire::Counter;

constexpr uint64_t kProcessStart = 10'000'000'000, kAt = 15'000'000'000, kNow = 20'000'000'000;

class CodeRecords : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    UseStridesOf130();
    g_test_strides[CUPTI_ACTIVITY_KIND_JIT] = 72;
    g_test_strides[CUPTI_ACTIVITY_KIND_CONTEXT] = 32;
    SetUpDecoder();
  }
  void SetUpDecoder() {
    decoder_.SetUp(kProcessStart, false);
    decoder_.UseParser(TestNextRecord, ProbeRecordSizes(TestNextRecord));
  }
  std::vector<RecordFields>& Decode() {
    EXPECT_EQ(decoder_.Decode(bytes_.data(), bytes_.size(), kNow), 0u);
    return Fake().records;
  }
  void AddOverhead(CUpti_ActivityOverheadKind kind, uint64_t start, uint64_t end) {
    CUpti_ActivityOverhead3 overhead = {};
    overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    overhead.overheadKind = kind;
    overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    overhead.start = start;
    overhead.end = end;
    overhead.correlationId = 9;
    bytes_.Add(overhead);
  }
  void AddContext(CUpti_ActivityComputeApiKind api, bool green, uint16_t multiprocessors, size_t bytes = 32) {
    CUpti_ActivityContext3 context = {};
    context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    context.contextId = 4;
    context.deviceId = 1;
    context.computeApiKind = static_cast<uint16_t>(api);
    context.parentContextId = green ? 1 : CUPTI_INVALID_CONTEXT_ID;
    context.isGreenContext = green;
    context.numMultiprocessors = multiprocessors;
    bytes_.Add(context, bytes);
  }

  ActivityDecoder decoder_;
  ActivityBytes bytes_;
};

TEST_F(CodeRecords, LoadsInsideCalls_AreToldAndCuptisOwnWorkIsNot) {
  AddOverhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, kAt, kAt + 700);
  AddOverhead(CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, kAt, kAt + 900);
  AddOverhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, kAt, kAt + 900);
  const auto& records = Decode();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, wire::RecordKind::kCodeLoad);
  EXPECT_EQ(records[0].call, static_cast<uint16_t>(CodeLoadKind::kLazyFunction));
  EXPECT_EQ(records[0].begin, kAt);
  EXPECT_EQ(records[0].duration, 700u);
  EXPECT_EQ(records[0].id, 9u);
  EXPECT_EQ(records[1].call, static_cast<uint16_t>(CodeLoadKind::kModule));
  EXPECT_EQ(Fake().CountOf(Counter::kGpuUnknownKind), 0u);
}

TEST_F(CodeRecords, TimesThatCannotBe_MakeNoRecord) {
  AddOverhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, kAt, kAt - 1);
  AddOverhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 0, kAt);
  AddOverhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, kAt, ~uint64_t{0});
  EXPECT_TRUE(Decode().empty());
  EXPECT_EQ(Fake().CountOf(Counter::kGpuReversedTime), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuZeroTime), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuOtherClock), 1u);
}

// CUDA 11.8's record of a compilation ends before the thread's number.
TEST_F(CodeRecords, Compilation_IsToldByEachLayout) {
  CUpti_ActivityJit2 jit = {};
  jit.kind = CUPTI_ACTIVITY_KIND_JIT;
  jit.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
  jit.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE;
  jit.start = kAt;
  jit.end = kAt + 5'000'000;
  jit.correlationId = 12;
  jit.cacheSize = 777;
  g_test_strides[CUPTI_ACTIVITY_KIND_JIT] = 64;
  SetUpDecoder();
  bytes_.Add(jit, 64);
  jit.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD;
  bytes_.Add(jit, 64);
  jit.jitOperationType = static_cast<CUpti_ActivityJitOperationType>(77);
  bytes_.Add(jit, 64);
  const auto& records = Decode();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].call, static_cast<uint16_t>(CodeLoadKind::kJitCompile));
  EXPECT_EQ(records[0].argument, 777u);
  EXPECT_EQ(records[0].id, 12u);
  EXPECT_EQ(records[1].call, static_cast<uint16_t>(CodeLoadKind::kJitCacheLoad));
  EXPECT_EQ(Fake().CountOf(Counter::kGpuUnknownKind), 1u);
}

TEST_F(CodeRecords, GreenContext_IsToldWithItsMultiprocessors) {
  AddContext(CUPTI_ACTIVITY_COMPUTE_API_CUDA, true, 16);
  Decode();
  ASSERT_EQ(Fake().contexts.size(), 1u);
  EXPECT_TRUE(Fake().contexts[0].green);
  EXPECT_EQ(Fake().contexts[0].multiprocessors, 16u);
  EXPECT_EQ(Fake().contexts[0].parent, 1u);
  EXPECT_EQ(decoder_.mps(), ActivityDecoder::Mps::kNo);
}

// CUDA 12.3 and before: 16 bytes.
TEST_F(CodeRecords, ShortContext_IsNoGreenOne) {
  g_test_strides[CUPTI_ACTIVITY_KIND_CONTEXT] = 16;
  SetUpDecoder();
  AddContext(CUPTI_ACTIVITY_COMPUTE_API_CUDA, true, 16, 16);
  AddContext(CUPTI_ACTIVITY_COMPUTE_API_UNKNOWN, true, 16, 16);
  Decode();
  ASSERT_EQ(Fake().contexts.size(), 2u);
  EXPECT_FALSE(Fake().contexts[0].green);
  EXPECT_EQ(Fake().contexts[0].multiprocessors, 0u);
}

TEST_F(CodeRecords, OneContextUnderMps_IsEnough) {
  EXPECT_EQ(decoder_.mps(), ActivityDecoder::Mps::kNotKnown);
  AddContext(CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS, false, 132);
  AddContext(CUPTI_ACTIVITY_COMPUTE_API_CUDA, false, 132);
  Decode();
  EXPECT_EQ(decoder_.mps(), ActivityDecoder::Mps::kYes);
}

TEST_F(CodeRecords, PartOfAGpu_IsToldWithItsInstances) {
  CUpti_ActivityDevice5 device = {};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.name = "NVIDIA H200 MIG 1g.18gb";
  device.numMultiprocessors = 16;
  device.isMigEnabled = 1;
  device.gpuInstanceId = 3;
  device.computeInstanceId = 1;
  bytes_.Add(device);
  Decode();
  ASSERT_EQ(Fake().devices.size(), 1u);
  EXPECT_TRUE(Fake().devices[0].mig);
  EXPECT_EQ(Fake().devices[0].gpu_instance, 3u);
  EXPECT_EQ(Fake().devices[0].compute_instance, 1u);
}

}  // namespace
}  // namespace stallscope::agent
