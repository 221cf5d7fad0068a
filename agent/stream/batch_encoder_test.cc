// What the agent writes by hand must be what libprotobuf reads, and, where both write it the same way, byte for byte.
#include "agent/stream/batch_encoder.h"

#include <cstring>
#include <string>
#include <vector>

#include "agent/hot/test_memory.h"
#include "google/protobuf/util/message_differencer.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::agent {
namespace {

std::vector<v1::Frame> Frames(const ProtoWriter& out) {
  std::vector<v1::Frame> frames;
  const uint8_t* at = out.data();
  const uint8_t* end = at + out.bytes();
  while (at < end) {
    uint32_t length = 0;
    memcpy(&length, at, 4);
    v1::Frame frame;
    EXPECT_TRUE(frame.ParseFromArray(at + 4, static_cast<int>(length)));
    // Parsing and writing again gives the same bytes: nothing unknown, nothing padded, fields in order.
    EXPECT_EQ(frame.SerializeAsString(), std::string(reinterpret_cast<const char*>(at + 4), length));
    frames.push_back(frame);
    at += 4 + length;
  }
  return frames;
}

class BatchEncoderTest : public testing::Test {
 protected:
  BatchEncoderTest() : bytes_(4u << 20), out_(bytes_.data(), bytes_.size()) { EXPECT_TRUE(encoder_.Create()); }
  ~BatchEncoderTest() override { encoder_.Destroy(); }

  std::vector<v1::Frame> Encode(const std::vector<PlainRecord>& records, uint64_t first = 0) {
    out_.Clear();
    EXPECT_EQ(encoder_.Encode(memory_.header(), 7, first, records.data(), static_cast<uint32_t>(records.size()), &out_),
              records.size());
    return Frames(out_);
  }

  TestMemory memory_;  // its clock counts in ns
  BatchEncoder encoder_;
  std::vector<uint8_t> bytes_;
  ProtoWriter out_;
};

PlainRecord Record(wire::RecordKind kind, uint16_t call) {
  PlainRecord record = {};
  record.kind = static_cast<uint16_t>(kind);
  record.call = call;
  return record;
}

TEST_F(BatchEncoderTest, Waits_FillEveryColumn) {
  PlainRecord a = Record(wire::RecordKind::kWait, 21);
  a.begin = 1'000'000, a.duration = 500, a.object = wire::FdObject(9), a.argument = 1'000'000, a.detail = 2,
  a.result = 2;
  PlainRecord b = Record(wire::RecordKind::kWait, 8);
  b.begin = 999'000, b.duration = 70'000, b.object = 0x7f001234, b.argument = wire::kNoTimeout, b.result = -110;
  b.stack = 5;
  const auto frames = Encode({a, b}, 40);
  ASSERT_EQ(frames.size(), 2u);
  ASSERT_EQ(frames[0].intern().objects_size(), 2);
  EXPECT_EQ(frames[0].intern().objects(0).value(), wire::FdObject(9));
  const v1::Batch& batch = frames[1].batch();
  EXPECT_EQ(batch.thread(), 7u);
  EXPECT_EQ(batch.first_record(), 40u);
  EXPECT_EQ(batch.record_count(), 2u);
  const v1::Waits& waits = batch.waits();
  EXPECT_EQ(static_cast<int64_t>(batch.base_ns()) + waits.begin_delta_ns(0), 1'000'000);
  EXPECT_EQ(waits.begin_delta_ns(1), -1000);
  EXPECT_EQ(waits.duration_ns(1), 70'000u);
  EXPECT_EQ(waits.call(0), 21u);
  EXPECT_EQ(waits.object(0), frames[0].intern().objects(0).id());
  EXPECT_EQ(waits.object(1), frames[0].intern().objects(1).id());
  EXPECT_EQ(waits.result(0), 2);
  EXPECT_EQ(waits.result(1), -110);
  EXPECT_EQ(waits.count(0), 2u);
  EXPECT_EQ(waits.timeout_ns(0), 1'000'001u);  // plus one
  EXPECT_EQ(waits.timeout_ns(1), 0u);          // none
  EXPECT_EQ(waits.stack(1), 5u);
}

TEST_F(BatchEncoderTest, KnownObjects_AreNotIntroducedAgain) {
  PlainRecord record = Record(wire::RecordKind::kWake, 3);
  record.begin = 5, record.object = 0xabc, record.argument = 77, record.detail = 4;
  EXPECT_EQ(Encode({record}).size(), 2u);
  const auto again = Encode({record});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].batch().wakes().woken_tid(0), 77u);
  EXPECT_EQ(again[0].batch().wakes().fd_plus_one(0), 4u);
  encoder_.ForgetIntroductions();
  EXPECT_EQ(Encode({record}).size(), 2u);
}

TEST_F(BatchEncoderTest, CudaCalls_TellHandlesFromBytes) {
  PlainRecord copy = Record(wire::RecordKind::kCudaCall, 41);
  copy.begin = 100, copy.duration = 9, copy.object = 0x5000, copy.argument = 4096, copy.id = 4'000'000'000u;
  copy.detail = wire::PackCudaDetail(wire::CudaCallClass::kCopyAsync, wire::CudaDomain::kRuntime,
                                     wire::CopyKind::kDeviceToHost, wire::kCudaFlagPageable);
  PlainRecord launch = Record(wire::RecordKind::kCudaCall, 514);
  launch.begin = 200, launch.argument = 0xdead0, launch.id = 3, launch.result = 700;
  launch.detail = wire::PackCudaDetail(wire::CudaCallClass::kGraphLaunch, wire::CudaDomain::kDriver,
                                       wire::CopyKind::kHostToHost, 0);
  const auto frames = Encode({copy, launch});
  const v1::CudaCalls& calls = frames.back().batch().cuda_calls();
  EXPECT_EQ(calls.argument(0), 4096u);
  ASSERT_EQ(frames[0].intern().objects_size(), 2);
  EXPECT_EQ(frames[0].intern().objects(1).value(), 0xdead0u);
  EXPECT_EQ(calls.argument(1), frames[0].intern().objects(1).id());
  EXPECT_EQ(calls.stream(0), frames[0].intern().objects(0).id());
  EXPECT_EQ(calls.stream(1), 0u);
  EXPECT_EQ(calls.call_class(1), 2u);
  EXPECT_EQ(calls.domain(1), 1u);
  EXPECT_EQ(calls.copy_kind(0), 2u);
  EXPECT_EQ(calls.flags(0), wire::kCudaFlagPageable);
  EXPECT_EQ(calls.result(1), 700);
  const auto first = static_cast<uint32_t>(calls.correlation_delta(0));
  EXPECT_EQ(first, 4'000'000'000u);
  EXPECT_EQ(first + static_cast<uint32_t>(calls.correlation_delta(1)), 3u);
}

TEST_F(BatchEncoderTest, GpuOps_IntroduceNamesAndShapes) {
  const uint32_t name = InternString("flash_fwd_kernel", 16);
  const uint32_t grid_block[6] = {128, 2, 1, 256, 1, 1};
  const uint32_t shape = InternShape(grid_block);
  PlainRecord op = Record(wire::RecordKind::kGpuOp, static_cast<uint16_t>(wire::GpuOpKind::kKernel));
  op.begin = 123'456'789, op.duration = 777, op.object = name | uint64_t{shape} << 32, op.argument = 99, op.id = 12;
  op.stack = 13, op.result = 2;
  op.detail = wire::PackGpuDetail(3, wire::CopyKind::kHostToDevice, 2, 3, 55);
  const auto frames = Encode({op});
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].intern().strings(0).text(), "flash_fwd_kernel");
  EXPECT_EQ(frames[0].intern().strings(0).id(), name);
  ASSERT_EQ(frames[0].intern().shapes(0).grid_block_size(), 6);
  EXPECT_EQ(frames[0].intern().shapes(0).grid_block(3), 256u);
  const v1::GpuOps& ops = frames[1].batch().gpu_ops();
  EXPECT_EQ(static_cast<int64_t>(frames[1].batch().base_ns()) + ops.begin_delta_ns(0), 123'456'789);
  EXPECT_EQ(ops.name(0), name);
  EXPECT_EQ(ops.shape(0), shape);
  EXPECT_EQ(ops.stream(0), 13u);
  EXPECT_EQ(ops.device(0), 3u);
  EXPECT_EQ(ops.context(0), 2u);
  EXPECT_EQ(ops.memory_kinds(0), 2u << 8 | 3u);
  EXPECT_EQ(ops.graph(0), 55u);
  EXPECT_EQ(ops.argument(0), 99u);
}

TEST_F(BatchEncoderTest, LaunchesAndKernels_HaveGroupsOfTheirOwnAndConstantColumnsHoldOneValue) {
  std::vector<PlainRecord> records;
  for (uint32_t i = 0; i < 3; ++i) {
    PlainRecord launch = Record(wire::RecordKind::kCudaCall, 211);
    launch.begin = 100 + i, launch.duration = 5 + i, launch.object = 0x5000, launch.id = 10 + i;
    launch.detail =
        wire::PackCudaDetail(wire::CudaCallClass::kLaunch, wire::CudaDomain::kRuntime, wire::CopyKind::kHostToHost, 0);
    records.push_back(launch);
    PlainRecord kernel = Record(wire::RecordKind::kGpuOp, static_cast<uint16_t>(wire::GpuOpKind::kKernel));
    kernel.begin = 1000 + i, kernel.duration = 7, kernel.id = 10 + i, kernel.stack = 13;
    records.push_back(kernel);
  }
  PlainRecord copy = Record(wire::RecordKind::kGpuOp, static_cast<uint16_t>(wire::GpuOpKind::kCopy));
  copy.begin = 2000, copy.argument = 4096;
  copy.detail = wire::PackGpuDetail(0, wire::CopyKind::kDeviceToHost, 3, 2, 0);
  records.push_back(copy);
  const auto frames = Encode(records);
  const v1::Batch& batch = frames.back().batch();
  EXPECT_FALSE(batch.has_cuda_calls());
  ASSERT_EQ(batch.launches().begin_delta_ns_size(), 3);
  EXPECT_EQ(batch.launches().duration_ns_size(), 3);
  ASSERT_EQ(batch.launches().call_size(), 1);
  EXPECT_EQ(batch.launches().call(0), 211u);
  EXPECT_EQ(batch.launches().stream_size(), 1);
  EXPECT_EQ(batch.launches().copy_kind_size(), 0);
  ASSERT_EQ(batch.gpu_ops().begin_delta_ns_size(), 3);
  EXPECT_EQ(batch.gpu_ops().stream_size(), 1);
  EXPECT_EQ(batch.gpu_ops().duration_ns_size(), 1);
  EXPECT_EQ(batch.gpu_ops().argument_size(), 0);
  ASSERT_EQ(batch.gpu_copies().begin_delta_ns_size(), 1);
  EXPECT_EQ(batch.gpu_copies().argument(0), 4096u);
}

TEST_F(BatchEncoderTest, Ranges_KeepTheirNumbers) {
  const uint32_t text = InternString("decode", 6), domain = InternString("vllm", 4);
  PlainRecord range = Record(wire::RecordKind::kRange, static_cast<uint16_t>(wire::RangeKind::kStepMarker));
  range.begin = 10, range.object = text, range.detail = domain, range.argument = 32, range.id = 4;
  const auto frames = Encode({range});
  const v1::Ranges& ranges = frames.back().batch().ranges();
  EXPECT_EQ(ranges.kind(0), 3u);
  EXPECT_EQ(ranges.text(0), text);
  EXPECT_EQ(ranges.domain(0), domain);
  EXPECT_EQ(ranges.number(0), 32u);
  EXPECT_EQ(ranges.range_id(0), 4u);
  EXPECT_EQ(frames[0].intern().strings_size(), 2);
}

TEST_F(BatchEncoderTest, MixedKinds_GoToTheirGroupsAndTheRestIsCountedAsConsumed) {
  std::vector<PlainRecord> records;
  for (int i = 0; i < 6; ++i) {
    records.push_back(Record(static_cast<wire::RecordKind>(i), 1));  // kNone too, which no reader knows
    records.back().begin = 50;
  }
  const auto frames = Encode(records);
  const v1::Batch& batch = frames.back().batch();
  EXPECT_EQ(batch.record_count(), 6u);
  EXPECT_EQ(batch.waits().begin_delta_ns_size(), 1);
  EXPECT_EQ(batch.wakes().begin_delta_ns_size(), 1);
  EXPECT_EQ(batch.cuda_calls().begin_delta_ns_size(), 1);
  EXPECT_EQ(batch.gpu_ops().begin_delta_ns_size(), 1);
  EXPECT_EQ(batch.ranges().begin_delta_ns_size(), 1);
}

TEST_F(BatchEncoderTest, ManyNewLongNames_CutTheBatchInsteadOfTheNames) {
  std::vector<PlainRecord> records;
  for (int i = 0; i < 40; ++i) {
    std::string text(60'000, static_cast<char>('a' + i % 26));
    text += std::to_string(i);
    PlainRecord range = Record(wire::RecordKind::kRange, 0);
    range.begin = 5;
    range.object = InternString(text.data(), static_cast<uint32_t>(text.size()));
    ASSERT_NE(range.object, 0u);
    records.push_back(range);
  }
  uint32_t done = 0, rounds = 0;
  int strings = 0;
  while (done < records.size()) {
    out_.Clear();
    const uint32_t taken = encoder_.Encode(memory_.header(), 1, done, records.data() + done,
                                           static_cast<uint32_t>(records.size()) - done, &out_);
    ASSERT_GT(taken, 0u);
    EXPECT_LE(out_.bytes(), BatchEncoder::kMaxOutputBytes);
    for (const v1::Frame& frame : Frames(out_)) strings += frame.intern().strings_size();
    done += taken;
    ++rounds;
  }
  EXPECT_GT(rounds, 1u);
  EXPECT_EQ(strings, 40);
}

TEST_F(BatchEncoderTest, TypicalMix_TakesAtMostTenBytesAnEvent) {
  std::vector<PlainRecord> records;
  uint64_t now_ns = 1'000'000'000'000;
  for (int i = 0; i < 1000; ++i) {
    now_ns += 3'000 + static_cast<uint64_t>(i) * 7919 % 40'000;
    PlainRecord record = Record(i % 4 == 3 ? wire::RecordKind::kWake : wire::RecordKind::kWait, i % 4 == 3 ? 16 : 9);
    record.begin = now_ns;
    record.duration = i % 4 == 3 ? 0 : 1'500 + static_cast<uint64_t>(i) * 104729 % 90'000;
    record.object = 0x7f0000001000 + static_cast<uint64_t>(i % 8) * 64;
    record.argument = i % 4 == 3 ? 0 : wire::kNoTimeout;
    records.push_back(record);
  }
  Encode(records);
  const double bytes_per_event = static_cast<double>(out_.bytes()) / 1000.0;
  RecordProperty("bytes_per_event", std::to_string(bytes_per_event));
  EXPECT_LE(bytes_per_event, 10.0);
}

}  // namespace
}  // namespace stallscope::agent
