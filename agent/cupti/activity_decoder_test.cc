#include "agent/cupti/activity_decoder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "agent/cuda/fake_agent.h"
#include "agent/cupti/activity_bytes.h"

namespace stallscope::agent {
namespace {

using wire::CopyKind;
using wire::Counter;
using wire::GpuOpKind;

constexpr uint64_t kProcessStart = 10'000'000'000, kNow = 20'000'000'000;
constexpr uint64_t kStart = 15'000'000'000, kEnd = 15'000'004'000;

CUpti_ActivityKernel10 Kernel(uint64_t start = kStart, uint64_t end = kEnd) {
  CUpti_ActivityKernel10 kernel = {};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = start;
  kernel.end = end;
  kernel.deviceId = 2;
  kernel.contextId = 3;
  kernel.streamId = 7;
  kernel.correlationId = 99;
  kernel.gridX = 4;
  kernel.gridY = kernel.gridZ = 1;
  kernel.blockX = 128;
  kernel.blockY = kernel.blockZ = 1;
  kernel.name = "_Z4gemmv";
  kernel.graphNodeId = 0x500;
  kernel.graphId = 11;
  return kernel;
}

class Decoder : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    UseStridesOf130();
    SetUpDecoder();
  }
  void SetUpDecoder() {
    decoder_.SetUp(kProcessStart, false);
    decoder_.UseParser(TestNextRecord, ProbeRecordSizes(TestNextRecord));
  }
  uint64_t Decode() { return decoder_.Decode(bytes_.data(), bytes_.size(), kNow); }
  std::vector<RecordFields>& records() { return Fake().records; }

  ActivityDecoder decoder_;
  ActivityBytes bytes_;
};

uint32_t DeviceOf(const RecordFields& record) { return record.detail & 0xff; }
CopyKind CopyOf(const RecordFields& record) { return static_cast<CopyKind>(record.detail >> 8 & 0xff); }
uint32_t GraphOf(const RecordFields& record) { return static_cast<uint32_t>(record.detail >> 32); }

TEST_F(Decoder, Kernel_BecomesAGpuOperation) {
  bytes_.Add(Kernel());
  EXPECT_EQ(Decode(), 1u);
  ASSERT_EQ(records().size(), 1u);
  const RecordFields& record = records()[0];
  EXPECT_EQ(record.kind, wire::RecordKind::kGpuOp);
  EXPECT_EQ(record.call, static_cast<uint16_t>(GpuOpKind::kKernel));
  EXPECT_EQ(record.begin, kStart);
  EXPECT_EQ(record.duration, kEnd - kStart);
  EXPECT_EQ(record.id, 99u);
  EXPECT_EQ(record.stack, 7u);
  EXPECT_EQ(record.result, 3);
  EXPECT_EQ(record.argument, 0x500u);
  EXPECT_EQ(DeviceOf(record), 2u);
  EXPECT_EQ(GraphOf(record), 11u);
  ASSERT_EQ(record.object, 1u);  // no shape at this level
  EXPECT_EQ(Fake().strings[0], "_Z4gemmv");
}

TEST_F(Decoder, RecordSecondsAfterItsWork_CountsAsLateAndIsKept) {
  bytes_.Add(Kernel());
  EXPECT_EQ(decoder_.Decode(bytes_.data(), bytes_.size(), kEnd + 2'000'000'000), 1u);
  EXPECT_EQ(Fake().CountOf(wire::Counter::kGpuLate), 0u);
  EXPECT_EQ(decoder_.Decode(bytes_.data(), bytes_.size(), kEnd + 2'000'000'001), 1u);
  EXPECT_EQ(Fake().CountOf(wire::Counter::kGpuLate), 1u);
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(Decoder, ShapesOn_GoIntoTheUpperHalf) {
  decoder_.SetShapes(true);
  bytes_.Add(Kernel());
  Decode();
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].object, uint64_t{2} << 32 | 1);
  uint32_t shape[6];
  ASSERT_EQ(Fake().strings[1].size(), sizeof(shape));
  memcpy(shape, Fake().strings[1].data(), sizeof(shape));
  EXPECT_EQ(shape[0], 4u);
  EXPECT_EQ(shape[3], 128u);
}

// CUDA 11.8 wrote 200 bytes for a kernel; Kernel4 of older ones ends before the graph's ids.
TEST_F(Decoder, ShorterKernelRecord_LeavesMissingFieldsZeroAndStaysInStep) {
  g_test_strides[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = 144;
  SetUpDecoder();
  for (int i = 0; i < 3; ++i) bytes_.Add(Kernel(), 144);
  EXPECT_EQ(Decode(), 3u);
  ASSERT_EQ(records().size(), 3u);
  EXPECT_EQ(records()[2].begin, kStart);
  EXPECT_EQ(records()[2].argument, 0u);
  EXPECT_EQ(GraphOf(records()[2]), 0u);
}

TEST_F(Decoder, Copies_KeepKindBytesAndMemory) {
  CUpti_ActivityMemcpy6 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.bytes = 4096;
  copy.start = kStart;
  copy.end = kEnd;
  copy.correlationId = 5;
  bytes_.Add(copy);
  CUpti_ActivityMemcpyPtoP4 peer = {};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.bytes = 8192;
  peer.start = kStart;
  peer.end = kEnd;
  peer.correlationId = 6;
  bytes_.Add(peer);
  EXPECT_EQ(Decode(), 2u);
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(CopyOf(records()[0]), CopyKind::kDeviceToHost);
  EXPECT_EQ(records()[0].argument, 4096u);
  EXPECT_EQ(records()[0].detail >> 16 & 0xff, unsigned{CUPTI_ACTIVITY_MEMORY_KIND_DEVICE});
  EXPECT_EQ(records()[0].detail >> 24 & 0xff, unsigned{CUPTI_ACTIVITY_MEMORY_KIND_PINNED});
  EXPECT_EQ(CopyOf(records()[1]), CopyKind::kPeerToPeer);
  EXPECT_EQ(records()[1].id, 6u);
}

TEST_F(Decoder, MemsetGraphAndSync_AreDecoded) {
  CUpti_ActivityMemset4 fill = {};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.bytes = 512;
  fill.start = kStart;
  fill.end = kEnd;
  bytes_.Add(fill);
  CUpti_ActivityGraphTrace2 graph = {};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  graph.correlationId = 77;
  graph.graphId = 21;
  graph.start = kStart;
  graph.end = kEnd;
  bytes_.Add(graph);
  CUpti_ActivitySynchronization2 sync = {};
  sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  sync.streamId = static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  sync.start = kStart;
  sync.end = kEnd;
  bytes_.Add(sync);
  EXPECT_EQ(Decode(), 3u);
  ASSERT_EQ(records().size(), 3u);
  EXPECT_EQ(records()[0].argument, 512u);
  EXPECT_EQ(records()[1].call, static_cast<uint16_t>(GpuOpKind::kGraph));
  EXPECT_EQ(GraphOf(records()[1]), 21u);
  EXPECT_EQ(records()[1].id, 77u);
  EXPECT_EQ(records()[2].call, static_cast<uint16_t>(GpuOpKind::kSync));
  EXPECT_EQ(records()[2].stack, 0u);  // no stream, and not a stream of number 2^32 - 1
}

TEST_F(Decoder, BadTimes_AreCountedAndMakeNoRecord) {
  bytes_.Add(Kernel(0, 0));
  bytes_.Add(Kernel(0, kEnd));
  bytes_.Add(Kernel(kStart, 0));
  bytes_.Add(Kernel(kEnd, kStart));
  bytes_.Add(Kernel(1'000, 2'000));                                          // long before this process
  bytes_.Add(Kernel(1'700'000'000'000'000'000, 1'700'000'000'000'001'000));  // CLOCK_REALTIME
  bytes_.Add(Kernel(kStart, uint64_t{1} << 63));
  bytes_.Add(Kernel(kStart, kStart));  // shorter than the clock's step: fine
  EXPECT_EQ(Decode(), 1u);
  EXPECT_EQ(records().size(), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuZeroTime), 2u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuUnfinished), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuReversedTime), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuBeforeLaunch), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuOtherClock), 2u);
}

TEST_F(Decoder, LibraryClock_IsShiftedToOurs) {
  CuptiInterface cupti;
  cupti.functions.cuptiGetTimestamp = [](uint64_t* now) {
    *now = Fake().ticks + 1'000'000'000'000;
    return CUPTI_SUCCESS;
  };
  Fake().ticks_per_reading = 0;
  decoder_.clock().Measure(&cupti);
  bytes_.Add(Kernel(kStart + 1'000'000'000'000, kEnd + 1'000'000'000'000));
  EXPECT_EQ(Decode(), 1u);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].begin, kStart);
}

TEST_F(Decoder, ForeignKinds_AreSkippedAndUnknownOnesCounted) {
  CUpti_ActivityAPI api = {};
  api.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  bytes_.Add(api);
  CUpti_ActivityMarker2 marker = {};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  bytes_.Add(marker);
  bytes_.Add(Kernel());
  EXPECT_EQ(Decode(), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuUnknownKind), 1u);
}

TEST_F(Decoder, UnreadableTail_IsCountedAndWhatWasBeforeIsKept) {
  bytes_.Add(Kernel());
  const uint32_t garbage[64] = {60};
  bytes_.Add(garbage);
  EXPECT_EQ(Decode(), 1u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuUnknownKind), 1u);
}

TEST_F(Decoder, EmptyOrCutBuffer_IsQuiet) {
  bytes_.Add(Kernel());
  EXPECT_EQ(decoder_.Decode(bytes_.data(), 0, kNow), 0u);
  EXPECT_EQ(decoder_.Decode(bytes_.data(), 100, kNow), 0u);
  EXPECT_TRUE(records().empty());
}

TEST_F(Decoder, Device_IsReported) {
  CUpti_ActivityDevice5 device = {};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.id = 1;
  device.name = "NVIDIA H200";
  device.numMultiprocessors = 132;
  bytes_.Add(device);
  Decode();
  ASSERT_EQ(Fake().devices.size(), 1u);
  EXPECT_EQ(Fake().devices[0].name, "NVIDIA H200");
  EXPECT_EQ(Fake().devices[0].multiprocessors, 132u);
}

TEST_F(Decoder, SameName_IsInternedOnce) {
  for (int i = 0; i < 100; ++i) bytes_.Add(Kernel());
  Decode();
  EXPECT_EQ(Fake().strings.size(), 1u);
}

TEST_F(Decoder, BeginBeforeItsOwnLaunch_IsCountedNotRecorded) {
  Fake().ticks = kNow;  // of one ns each
  Fake().ticks_per_reading = 0;
  decoder_.NoteLaunch(99, kStart + 200'000);
  bytes_.Add(Kernel());
  EXPECT_EQ(Decode(), 0u);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuBeforeLaunch), 1u);
}

TEST_F(Decoder, BeginWithinTheClocksErrorOfItsLaunch_IsRecorded) {
  Fake().ticks = kNow;
  Fake().ticks_per_reading = 0;
  decoder_.NoteLaunch(99, kStart + 9'000);
  decoder_.NoteLaunch(99 + 65536 + 1, kStart + 900'000);  // of other work
  bytes_.Add(Kernel());
  EXPECT_EQ(Decode(), 1u);
}

TEST_F(Decoder, LaunchForgottenByNow_SaysNothing) {
  Fake().ticks = kNow;
  Fake().ticks_per_reading = 0;
  decoder_.NoteLaunch(99, kStart + 900'000);
  decoder_.NoteLaunch(99 + 65536, kStart + 900'000);
  bytes_.Add(Kernel());
  EXPECT_EQ(Decode(), 1u);
}

// NVIDIA's own parser needs no driver.
TEST_F(Decoder, RealParser_WalksTheSameRecords) {
  void* library = dlopen(STALLSCOPE_REAL_CUPTI, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no " STALLSCOPE_REAL_CUPTI;
  const auto next = reinterpret_cast<RecordParser::ForProcess>(dlsym(library, "cuptiActivityGetNextRecord"));
  ASSERT_NE(next, nullptr);
  const RecordSizes sizes = ProbeRecordSizes(next);
  for (uint32_t kind = 0; kind < RecordSizes::kKinds; ++kind) {
    if (g_test_strides[kind] != 0) {
      EXPECT_EQ(sizes.Of(kind), g_test_strides[kind]) << "kind " << kind;
    }
  }
  decoder_.UseParser(next, sizes);
  bytes_.Add(Kernel());
  CUpti_ActivityGraphTrace2 graph = {};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  graph.start = kStart;
  graph.end = kEnd;
  bytes_.Add(graph);
  bytes_.Add(Kernel());
  EXPECT_EQ(Decode(), 3u);
}

}  // namespace
}  // namespace stallscope::agent
