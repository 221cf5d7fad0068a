#include "collector/ingest/ring_drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/ingest/event_log.h"
#include "collector/ingest/process_stream.h"
#include "collector/ingest/shm_builder.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

RawRecord Wait(uint64_t begin, uint64_t duration) {
  RawRecord record;
  record.kind = wire::RecordKind::kWait;
  record.begin = begin;
  record.duration = duration;
  record.argument = wire::kNoTimeout;
  return record;
}

v1::Hello MakeHello() {
  v1::Hello hello;
  hello.set_version_major(1);
  hello.set_monotonic_ns(100);
  return hello;
}

// A process with its memory, its stream and a log of what came out.
struct Process {
  explicit Process(ShmBuilder* builder) : stream(1, MakeHello()), log(&stream.registry()) {
    stream.SetSink(&log);
    image = *ShmImage::Map(builder->DuplicateFd());
    drain = std::make_unique<RingDrain>(1, &stream.registry(), image.get(), [this](const v1::Frame& frame) {
      frames.push_back(frame);
      EXPECT_TRUE(stream.OnFrame(frame).ok());
    });
  }
  ProcessStream stream;
  EventLog log;
  std::unique_ptr<ShmImage> image;
  std::unique_ptr<RingDrain> drain;
  std::vector<v1::Frame> frames;
};

void CommitOneOfEachKind(ShmBuilder* builder) {
  const uint32_t gemm = builder->AddString("gemm");
  const uint32_t shape = builder->AddString(std::string(24, '\1'));
  const uint32_t text = builder->AddString("step");
  RawRecord wait = Wait(1000, 500);
  wait.call = static_cast<uint16_t>(wire::OsCall::kPthreadCondTimedwait);
  wait.object = 0x7f0000001000;
  wait.argument = 1'000'000;
  wait.detail = 3;
  wait.result = -110;
  wait.stack = 9;
  builder->Commit(0, wait);
  RawRecord wake;
  wake.kind = wire::RecordKind::kWake;
  wake.begin = 1600;
  wake.call = static_cast<uint16_t>(wire::OsCall::kPthreadMutexUnlock);
  wake.object = 0x7f0000001000;
  wake.argument = 77;
  wake.detail = 6;
  builder->Commit(0, wake);
  RawRecord launch;
  launch.kind = wire::RecordKind::kCudaCall;
  launch.begin = 1700;
  launch.duration = 40;
  launch.call = 211;
  launch.object = 0xabc0;
  launch.argument = 0xdef0;
  launch.detail = wire::PackCudaDetail(wire::CudaCallClass::kGraphLaunch, wire::CudaDomain::kRuntime,
                                       wire::CopyKind::kHostToHost, wire::kCudaFlagNoCupti);
  launch.id = 12;
  launch.result = 0;
  builder->Commit(0, launch);
  RawRecord copy = launch;
  copy.begin = 1800;
  copy.argument = 4096;
  copy.id = 5;
  copy.detail = wire::PackCudaDetail(wire::CudaCallClass::kCopyAsync, wire::CudaDomain::kDriver,
                                     wire::CopyKind::kDeviceToHost, wire::kCudaFlagPageable);
  builder->Commit(0, copy);
  RawRecord kernel;
  kernel.kind = wire::RecordKind::kGpuOp;
  kernel.begin = 5'001'900;  // host ns already
  kernel.duration = 300;
  kernel.object = gemm | static_cast<uint64_t>(shape) << 32;
  kernel.argument = 8;
  kernel.detail = wire::PackGpuDetail(1, wire::CopyKind::kHostToHost, 2, 3, 44);
  kernel.id = 12;
  kernel.stack = 7;
  kernel.call = static_cast<uint16_t>(wire::GpuOpKind::kKernel);
  kernel.result = 1;
  builder->Commit(0, kernel);
  RawRecord range;
  range.kind = wire::RecordKind::kRange;
  range.begin = 1500;
  range.duration = 600;
  range.object = text;
  range.argument = 64;
  range.id = 3;
  range.call = static_cast<uint16_t>(wire::RangeKind::kStepMarker);
  builder->Commit(0, range);
}

// Each tick is 2 ns after 5 ms.
void UseClock(ShmBuilder* builder) { builder->SetClock(0, 5'000'000, 2, 0); }

TEST(RingDrain, OneRecordOfEachKind_YieldsItsEvent) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "main");
  CommitOneOfEachKind(&builder);
  Process process(&builder);
  EXPECT_EQ(process.drain->DrainFinal(), 6u);
  EXPECT_THAT(
      process.log.lines(),
      ElementsAre("thread 8388608 100 main 5000020", "wait 8388608 9 5002000 5003000 139637976731648 -110 3 1000001 9",
                  "wake 8388608 3 5003200 139637976731648 77 6 0",
                  "cuda 8388608 211 0 2 0 2 5003400 5003480 12 0 43968 57072 0",
                  "cuda 8388608 211 1 3 2 1 5003600 5003680 5 0 43968 4096 0",
                  "range 8388608 3 5003000 5004200 step  64 3", "gpu 1 0 2 3 1 1 7 12 44 gemm 2 5001900 5002200 8"));
}

// The same six events as the agent's packer would send them: times converted, handles as ids.
v1::Frame AgentsNames() {
  v1::Frame names;
  auto* thread = names.mutable_intern()->add_threads();
  thread->set_id(1);
  thread->set_tid(100);
  thread->set_name("main");
  thread->set_begin_ns(5'000'020);
  const uint64_t values[] = {0x7f0000001000, 0xabc0, 0xdef0};
  for (uint32_t i = 0; i < 3; ++i) {
    auto* object = names.mutable_intern()->add_objects();
    object->set_id(i + 1);
    object->set_value(values[i]);
  }
  const char* texts[] = {"gemm", "", "step"};
  for (const uint32_t id : {1u, 3u}) {
    auto* string = names.mutable_intern()->add_strings();
    string->set_id(id);
    string->set_text(texts[id - 1]);
  }
  return names;
}

v1::Frame AgentsBatch() {
  v1::Frame frame;
  v1::Batch* batch = frame.mutable_batch();
  batch->set_thread(1);
  batch->set_record_count(6);
  batch->set_base_ns(5'000'000);
  v1::Waits* waits = batch->mutable_waits();
  waits->add_begin_delta_ns(2000);
  waits->add_duration_ns(1000);
  waits->add_call(9);
  waits->add_object(1);
  waits->add_result(-110);
  waits->add_count(3);
  waits->add_timeout_ns(1'000'001);
  waits->add_stack(9);
  v1::Wakes* wakes = batch->mutable_wakes();
  wakes->add_begin_delta_ns(3200);
  wakes->add_call(3);
  wakes->add_object(1);
  wakes->add_woken_tid(77);
  wakes->add_fd_plus_one(6);
  v1::CudaCalls* calls = batch->mutable_cuda_calls();
  const int64_t begins[] = {3400, 200};
  const uint32_t classes[] = {2, 3}, domains[] = {0, 1}, kinds[] = {0, 2}, flags[] = {2, 1};
  const int32_t correlations[] = {12, -7};
  const uint64_t arguments[] = {3, 4096};
  for (int i = 0; i < 2; ++i) {
    calls->add_begin_delta_ns(begins[i]);
    calls->add_duration_ns(80);
    calls->add_call(211);
    calls->add_call_class(classes[i]);
    calls->add_domain(domains[i]);
    calls->add_correlation_delta(correlations[i]);
    calls->add_stream(2);
    calls->add_argument(arguments[i]);
    calls->add_copy_kind(kinds[i]);
    calls->add_flags(flags[i]);
  }
  v1::GpuOps* ops = batch->mutable_gpu_ops();
  ops->add_begin_delta_ns(1900);
  ops->add_duration_ns(300);
  ops->add_kind(1);
  ops->add_correlation_delta(12);
  ops->add_name(1);
  ops->add_stream(7);
  ops->add_device(1);
  ops->add_context(1);
  ops->add_argument(8);
  ops->add_memory_kinds(2 << 8 | 3);
  ops->add_graph(44);
  ops->add_shape(2);
  v1::Ranges* ranges = batch->mutable_ranges();
  ranges->add_begin_delta_ns(3000);
  ranges->add_duration_ns(1200);
  ranges->add_kind(3);
  ranges->add_text(3);
  ranges->add_number(64);
  ranges->add_range_id(3);
  return frame;
}

TEST(RingDrain, RawAndPackedRoad_YieldTheSameEvents) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "main");
  CommitOneOfEachKind(&builder);

  // The agent named its thread before it was killed, and sent nothing more.
  Process raw(&builder);
  ASSERT_TRUE(raw.stream.OnFrame(AgentsNames()).ok());
  raw.drain->DrainFinal();

  ProcessStream packed(1, MakeHello());
  EventLog log(&packed.registry());
  packed.SetSink(&log);
  ASSERT_TRUE(packed.OnFrame(AgentsNames()).ok());
  ASSERT_TRUE(packed.OnFrame(AgentsBatch()).ok());

  EXPECT_THAT(raw.log.lines(), ElementsAreArray(log.lines()));
  EXPECT_EQ(log.lines().size(), 7u);
}

TEST(RingDrain, AfterReceivedBatches_GoesOnBehindThem) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "main");
  for (uint64_t i = 0; i < 10; ++i) builder.Commit(0, Wait(1000 + i, 1));
  Process process(&builder);
  ASSERT_TRUE(process.stream.OnFrame(AgentsNames()).ok());
  v1::Frame frame;
  frame.mutable_batch()->set_thread(1);
  frame.mutable_batch()->set_first_record(0);
  frame.mutable_batch()->set_record_count(7);
  ASSERT_TRUE(process.stream.OnFrame(frame).ok());
  EXPECT_EQ(process.drain->DrainFinal(), 3u);
  EXPECT_EQ(process.drain->DrainFinal(), 0u);
  EXPECT_THAT(process.log.Only("loss"), IsEmpty());
  EXPECT_EQ(process.log.Only("wait").size(), 3u);
}

TEST(RingDrain, LiveProcess_IsReadBitByBitAndTold) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "main");
  Process process(&builder);
  for (int round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < 10; ++i) builder.Commit(0, Wait(1000 + round * 100 + i, 1));
    EXPECT_EQ(process.drain->DrainLive(), 10u);
    EXPECT_EQ(builder.slot(0)->drained.load(), 10u * (round + 1));
  }
  EXPECT_EQ(process.log.Only("wait").size(), 50u);
  EXPECT_EQ(process.log.Only("thread").size(), 1u);
}

TEST(RingDrain, OverwrittenRecords_AreALossToldToBothSides) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "main");
  Process process(&builder);
  builder.Commit(0, Wait(1000, 1));
  process.drain->DrainLive();
  for (uint64_t i = 0; i < 30; ++i) builder.Commit(0, Wait(2000 + i, 1));
  process.drain->DrainLive();
  EXPECT_THAT(process.log.Only("loss"), ElementsAre("loss 8388608 14 5002002 5004028"));
  EXPECT_EQ(builder.slot(0)->lost.load(), 14u);
  EXPECT_EQ(process.drain->ReadTotals().records, 31u);
  EXPECT_EQ(process.drain->ReadTotals().lost, 14u);
}

TEST(RingDrain, SlotTakenAnew_StartsOverAsAnotherThread) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "old");
  builder.Commit(0, Wait(1000, 1));
  Process process(&builder);
  process.drain->DrainLive();
  builder.TakeSlot(0, 200, 100'000'000, "new");
  builder.Commit(0, Wait(100'000'001, 1));
  EXPECT_EQ(process.drain->DrainLive(), 1u);
  EXPECT_THAT(process.log.Only("thread"),
              ElementsAre("thread 8388608 100 old 5000020", "thread 8388609 200 new 205000000"));
  EXPECT_THAT(process.log.Only("loss"), IsEmpty());
}

TEST(RingDrain, HalfWrittenRecordAtDeath_IsCountedAndTheRestIsKept) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "main");
  builder.Commit(0, Wait(1000, 1));
  builder.CommitHalf(0, Wait(2000, 1));
  builder.Commit(0, Wait(3000, 1));
  Process process(&builder);
  EXPECT_EQ(process.drain->DrainFinal(), 2u);
  EXPECT_EQ(process.drain->torn(), 1u);
  EXPECT_THAT(process.log.Only("loss"), IsEmpty());
}

TEST(RingDrain, RecordKindOfANewerAgent_IsSkipped) {
  ShmBuilder builder;
  UseClock(&builder);
  builder.TakeSlot(0, 100, 10, "main");
  RawRecord unknown = Wait(1000, 1);
  unknown.kind = static_cast<wire::RecordKind>(99);
  builder.Commit(0, unknown);
  builder.Commit(0, Wait(1001, 1));
  Process process(&builder);
  process.drain->DrainFinal();
  EXPECT_EQ(process.log.Only("wait").size(), 1u);
  EXPECT_EQ(process.drain->unknown_records(), 1u);
}

}  // namespace
}  // namespace stallscope::ingest
