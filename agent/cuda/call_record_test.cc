#include "agent/cuda/call_record.h"

#include <cuda_runtime_api.h>
#include <generated_cuda_runtime_api_meta.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/cuda/capture_state.h"
#include "agent/cuda/fake_agent.h"
#include "agent/cuda/first_call.h"
#include "agent/cupti/session.h"

namespace stallscope::agent {

// CUPTI's set-up is not part of these tests.
void SetUpCupti() noexcept {}
const char* CuptiCallName(wire::CudaDomain, uint16_t) noexcept { return nullptr; }

namespace {

using wire::CudaCallClass;
using wire::CudaDomain;

constexpr uint16_t kLaunchId = 211, kStreamSyncId = 131, kEventQueryId = 138, kDriverLaunchId = 307,
                   kMemcpyAsyncId = 41;

const CudaCallInfo& Runtime(uint16_t id) { return *FindCudaCall(CudaDomain::kRuntime, id); }
const CudaCallInfo& Driver(uint16_t id) { return *FindCudaCall(CudaDomain::kDriver, id); }
const CudaCallInfo& Named(const std::string& symbol) {
  for (uint32_t i = 0; i < kCudaCallCount; ++i) {
    if (symbol == kCudaCalls[i].symbol) return kCudaCalls[i];
  }
  ADD_FAILURE() << symbol;
  return kCudaCalls[0];
}

CudaCallClass ClassOf(const RecordFields& record) { return static_cast<CudaCallClass>(record.detail & 0xff); }
CudaDomain DomainOf(const RecordFields& record) { return static_cast<CudaDomain>(record.detail >> 8 & 0xff); }
uint64_t FlagsOf(const RecordFields& record) { return record.detail >> 24; }

class CallRecord : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    g_captures_running = 0;
    g_first_cuda_call_done = true;
    Hook(Runtime(kLaunchId));  // ends a polling interval that the test before left open on this thread
    ResetFake();
  }

  // What a hook does around the real function.
  template <typename Real>
  void Hook(const CudaCallInfo& call, const CudaCallArguments& arguments, int32_t result, Real real) {
    ActiveCall active;
    const bool open = BeginCall(call, arguments.object, &active);
    real();
    if (open) EndCall(call, &active, arguments, result);
  }
  void Hook(const CudaCallInfo& call, const CudaCallArguments& arguments = {}, int32_t result = 0) {
    Hook(call, arguments, result, [] {});
  }
  std::vector<RecordFields>& records() { return Fake().records; }
};

TEST_F(CallRecord, HookAndCallback_MakeOneRecordWithTheCorrelationId) {
  Hook(Runtime(kLaunchId), {0x5, 0, wire::CopyKind::kHostToHost}, 0, [] {
    OnCallbackEnter(Runtime(kLaunchId), 42, nullptr);
    OnCallbackEnter(Driver(kDriverLaunchId), 42, nullptr);
    OnCallbackExit(Driver(kDriverLaunchId), nullptr, 0);
    OnCallbackExit(Runtime(kLaunchId), nullptr, 0);
  });
  ASSERT_EQ(records().size(), 1u);
  const RecordFields& record = records()[0];
  EXPECT_EQ(record.kind, wire::RecordKind::kCudaCall);
  EXPECT_EQ(record.call, kLaunchId);
  EXPECT_EQ(record.id, 42u);
  EXPECT_EQ(record.object, 0x5u);
  EXPECT_EQ(ClassOf(record), CudaCallClass::kLaunch);
  EXPECT_EQ(DomainOf(record), CudaDomain::kRuntime);
  EXPECT_EQ(FlagsOf(record), 0u);
  EXPECT_GT(record.duration, 0u);
}

TEST_F(CallRecord, HookWithoutCallback_SaysThatNoCorrelationWillCome) {
  Hook(Runtime(kLaunchId));
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].id, 0u);
  EXPECT_EQ(FlagsOf(records()[0]), wire::kCudaFlagNoCupti);
}

TEST_F(CallRecord, HookInsideHook_BelongsToTheOuterCall) {
  Hook(Named("cudaMallocHost"), {}, 0, [this] { Hook(Named("cudaHostAlloc")); });
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(ClassOf(records()[0]), CudaCallClass::kHostAlloc);
}

TEST_F(CallRecord, CallbackAlone_RecordsTheCallFromItsParameters) {
  cudaMemcpyAsync_v3020_params block = {};
  block.count = 64;
  block.kind = cudaMemcpyHostToDevice;
  block.stream = reinterpret_cast<cudaStream_t>(0x9);
  OnCallbackEnter(Runtime(kMemcpyAsyncId), 7, &block);
  EXPECT_NE(Fake().current_wait.call_plus_one, 0);
  OnCallbackExit(Runtime(kMemcpyAsyncId), &block, 0);
  EXPECT_EQ(Fake().current_wait.call_plus_one, 0);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].id, 7u);
  EXPECT_EQ(records()[0].object, 0x9u);
  EXPECT_EQ(records()[0].argument, 64u);
  EXPECT_EQ(FlagsOf(records()[0]), 0u);
}

TEST_F(CallRecord, DriverCallbackBelowRuntimeCallback_IsNotRecordedAgain) {
  cudaLaunchKernel_v7000_params block = {};
  OnCallbackEnter(Runtime(kLaunchId), 8, &block);
  OnCallbackEnter(Driver(kDriverLaunchId), 8, nullptr);
  OnCallbackExit(Driver(kDriverLaunchId), nullptr, 0);
  OnCallbackExit(Runtime(kLaunchId), &block, 0);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(DomainOf(records()[0]), CudaDomain::kRuntime);
}

TEST_F(CallRecord, CallbackWithoutExit_DoesNotSilenceTheThread) {
  OnCallbackEnter(Driver(kDriverLaunchId), 9, nullptr);
  Hook(Runtime(kStreamSyncId));
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].call, kStreamSyncId);
}

TEST_F(CallRecord, OwnCalls_AreNotRecorded) {
  {
    const OwnCudaCalls own;
    Hook(Runtime(kLaunchId));
    OnCallbackEnter(Driver(kDriverLaunchId), 1, nullptr);
    OnCallbackExit(Driver(kDriverLaunchId), nullptr, 0);
  }
  EXPECT_TRUE(records().empty());
  Hook(Runtime(kLaunchId));
  EXPECT_EQ(records().size(), 1u);
}

TEST_F(CallRecord, BlockedCall_IsPublishedWhileItRuns) {
  Hook(Runtime(kStreamSyncId), {0x33, 0, wire::CopyKind::kHostToHost}, 0, [] {
    EXPECT_EQ(Fake().current_wait.call_plus_one, kStreamSyncId + 1);
    EXPECT_EQ(Fake().current_wait.object, 0x33u);
  });
  EXPECT_EQ(Fake().current_wait.call_plus_one, 0);
}

TEST_F(CallRecord, RecordingOff_PassesThrough) {
  Fake().recording = false;
  Hook(Runtime(kLaunchId));
  OnCallbackEnter(Driver(kDriverLaunchId), 1, nullptr);
  OnCallbackExit(Driver(kDriverLaunchId), nullptr, 0);
  EXPECT_TRUE(records().empty());
}

TEST_F(CallRecord, PollingLoop_BecomesOneRecordBeforeTheSuccess) {
  const CudaCallArguments event = {0, 0x70, wire::CopyKind::kHostToHost};
  for (int i = 0; i < 20; ++i) Hook(Runtime(kEventQueryId), event, cudaErrorNotReady);
  EXPECT_TRUE(records().empty());
  Hook(Runtime(kEventQueryId), event, 0);
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(records()[0].result, cudaErrorNotReady);
  EXPECT_EQ(records()[0].argument, 0x70u);
  EXPECT_GE(records()[0].duration, 20u);
  EXPECT_NE(FlagsOf(records()[0]) & wire::kCudaFlagSpin, 0u);
  EXPECT_EQ(records()[0].id, 20u) << "how many queries it stands for";
  EXPECT_EQ(FlagsOf(records()[1]) & wire::kCudaFlagSpin, 0u);
  EXPECT_EQ(records()[1].result, 0);
  EXPECT_LE(records()[0].begin + records()[0].duration, records()[1].begin);
}

TEST_F(CallRecord, PollsFarApart_AreRecordsOfTheirOwn) {
  const CudaCallArguments event = {0, 0x70, wire::CopyKind::kHostToHost};
  for (int i = 0; i < 3; ++i) {
    Hook(Runtime(kEventQueryId), event, cudaErrorNotReady);
    Fake().ticks += 1'000'000;
  }
  Hook(Runtime(kLaunchId));
  EXPECT_EQ(records().size(), 4u);
}

TEST_F(CallRecord, EndlessPolling_ShowsWhileItLasts) {
  const CudaCallArguments event = {0, 0x70, wire::CopyKind::kHostToHost};
  Fake().ticks_per_reading = 10'000;
  for (int i = 0; i < 400; ++i) Hook(Runtime(kEventQueryId), event, cudaErrorNotReady);
  EXPECT_GT(records().size(), 3u);
}

cudaError_t AlwaysCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

TEST_F(CallRecord, LaunchIntoCapture_IsMarked) {
  Fake().symbols["cudaStreamIsCapturing"] = reinterpret_cast<void*>(&AlwaysCapturing);
  const CudaCallArguments stream = {0x44, 0, wire::CopyKind::kHostToHost};
  Hook(Runtime(kLaunchId), stream);
  Hook(Named("cudaStreamBeginCapture"), stream);
  Hook(Runtime(kLaunchId), stream);
  Hook(Runtime(kLaunchId), {0, 0, wire::CopyKind::kHostToHost});  // the legacy default stream cannot be captured
  Hook(Named("cudaStreamEndCapture"), stream);
  Hook(Runtime(kLaunchId), stream);
  ASSERT_EQ(records().size(), 6u);
  EXPECT_EQ(FlagsOf(records()[0]) & wire::kCudaFlagCapturing, 0u);
  EXPECT_NE(FlagsOf(records()[2]) & wire::kCudaFlagCapturing, 0u);
  EXPECT_EQ(FlagsOf(records()[3]) & wire::kCudaFlagCapturing, 0u);
  EXPECT_EQ(FlagsOf(records()[5]) & wire::kCudaFlagCapturing, 0u);
}

// In CUPTI's callbacks CUDA cannot be asked: which streams are captured follows from what was seen.
TEST_F(CallRecord, CaptureSeenByCallbacksAlone_CoversJoinedStreamsUntilItsEnd) {
  const CudaCallArguments first = {0x44, 0, wire::CopyKind::kHostToHost},
                          second = {0x45, 0, wire::CopyKind::kHostToHost};
  const CudaCallArguments event_of_first = {0x44, 0xe1, wire::CopyKind::kHostToHost};
  const CudaCallArguments wait_of_second = {0x45, 0xe1, wire::CopyKind::kHostToHost};
  NoteCapture(Named("cudaStreamBeginCapture"), 0, first);
  EXPECT_TRUE(StreamIsKnownToCapture(0x44));
  EXPECT_FALSE(StreamIsKnownToCapture(0x45));
  NoteCapture(Named("cudaEventRecord"), 0, event_of_first);
  NoteCapture(Named("cudaStreamWaitEvent"), 0, wait_of_second);
  EXPECT_TRUE(StreamIsKnownToCapture(0x45));
  cudaMemcpyAsync_v3020_params block = {};
  block.stream = reinterpret_cast<cudaStream_t>(0x45);
  OnCallbackEnter(Runtime(kMemcpyAsyncId), 7, &block);
  OnCallbackExit(Runtime(kMemcpyAsyncId), &block, 0);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_NE(FlagsOf(records()[0]) & wire::kCudaFlagCapturing, 0u);
  NoteCapture(Named("cudaStreamEndCapture"), 0, first);
  EXPECT_FALSE(StreamIsKnownToCapture(second.object));
  EXPECT_FALSE(StreamIsKnownToCapture(first.object));
}

TEST_F(CallRecord, FirstCall_ReportsNamesOnce) {
  g_first_cuda_call_done = false;
  Hook(Runtime(kLaunchId));
  EXPECT_EQ(Fake().call_names[kLaunchId], "cudaLaunchKernel_v7000");
  EXPECT_TRUE(FirstCallDone());
  EXPECT_EQ(records().size(), 1u);
}

}  // namespace
}  // namespace stallscope::agent
