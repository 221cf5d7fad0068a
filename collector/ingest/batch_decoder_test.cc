#include "collector/ingest/batch_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/ingest/event_log.h"
#include "proto/wire/shm.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BatchDecoderTest : public ::testing::Test {
 protected:
  BatchDecoderTest() : log(&registry), decoder(&registry) {
    v1::Intern names;
    auto* text = names.add_strings();
    text->set_id(1);
    text->set_text("gemm");
    auto* object = names.add_objects();
    object->set_id(5);
    object->set_value(0xdead0000beef);
    registry.AddNames(names);
    registry.AddThread(1, 100, "main", 1000);
    batch.set_thread(1);
    batch.set_base_ns(1'000'000);
  }

  void AddWait(int64_t delta, uint64_t duration) {
    v1::Waits* waits = batch.mutable_waits();
    waits->add_begin_delta_ns(delta);
    waits->add_duration_ns(duration);
  }

  ProcessRegistry registry;
  EventLog log;
  BatchDecoder decoder;
  v1::Batch batch;
};

TEST_F(BatchDecoderTest, EveryColumn_ReachesItsField) {
  AddWait(10, 500);
  v1::Waits* waits = batch.mutable_waits();
  waits->add_call(9);
  waits->add_object(5);
  waits->add_result(-110);
  waits->add_count(3);
  waits->add_timeout_ns(1001);
  waits->add_stack(7);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("wait 1 9 1000010 1000510 244834610757359 -110 3 1001 7"));
}

TEST_F(BatchDecoderTest, AbsentColumns_AreZeros) {
  batch.mutable_gpu_ops()->add_kind(1);
  batch.mutable_gpu_ops()->add_kind(2);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(),
              ElementsAre("gpu 1 0 0 0 0 0 0 0 0  0 1000000 1000000 0", "gpu 2 0 0 0 0 0 0 0 0  0 1000000 1000000 0"));
}

TEST_F(BatchDecoderTest, ColumnWithOneValue_IsThatValueInEveryRow) {
  AddWait(10, 500);
  AddWait(10, 600);
  batch.mutable_waits()->add_call(21);
  batch.mutable_waits()->add_object(5);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("wait 1 21 1000010 1000510 244834610757359 0 0 0 0",
                                       "wait 1 21 1000020 1000620 244834610757359 0 0 0 0"));
}

TEST_F(BatchDecoderTest, ColumnsOfDifferentLength_RefusesTheWholeBatch) {
  for (int i = 0; i < 3; ++i) AddWait(1, 2);
  for (int i = 0; i < 2; ++i) batch.mutable_waits()->add_call(1);
  batch.mutable_gpu_ops()->add_kind(1);
  const absl::Status status = decoder.Decode(batch, &log);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Waits"));
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(BatchDecoderTest, GroupsOfOneThread_AreMergedByTheirEnds) {
  AddWait(0, 100);   // ends 1000100
  AddWait(200, 50);  // ends 1000250
  batch.mutable_wakes()->add_begin_delta_ns(150);
  batch.mutable_wakes()->add_begin_delta_ns(150);  // at 1000300
  batch.mutable_wakes()->add_call(3);
  batch.mutable_wakes()->add_call(3);
  batch.mutable_cuda_calls()->add_begin_delta_ns(240);
  batch.mutable_cuda_calls()->add_duration_ns(5);  // ends 1000245
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  std::vector<std::string> kinds;
  for (const std::string& line : log.lines()) kinds.push_back(line.substr(0, line.find(' ')));
  EXPECT_THAT(kinds, ElementsAre("wait", "wake", "cuda", "wait", "wake"));
}

TEST_F(BatchDecoderTest, LaunchesAndCopies_AreReadLikeTheGroupsTheyStandBeside) {
  batch.mutable_launches()->add_begin_delta_ns(10);
  batch.mutable_launches()->add_begin_delta_ns(10);
  batch.mutable_launches()->add_call_class(1);
  batch.mutable_launches()->add_correlation_delta(7);
  batch.mutable_launches()->add_correlation_delta(1);
  batch.mutable_cuda_calls()->add_begin_delta_ns(15);
  batch.mutable_gpu_copies()->add_kind(2);
  batch.mutable_gpu_copies()->add_argument(4096);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  std::vector<std::string> kinds;
  for (const std::string& line : log.lines()) kinds.push_back(line.substr(0, line.find(' ')));
  EXPECT_THAT(kinds, ElementsAre("cuda", "cuda", "cuda", "gpu"));
  EXPECT_EQ(decoder.counts().events, 4u);

  batch.mutable_launches()->add_stream(1);
  batch.mutable_launches()->add_stream(1);
  batch.mutable_launches()->add_stream(1);
  EXPECT_THAT(std::string(decoder.Decode(batch, &log).message()), HasSubstr("CudaCalls"));
}

TEST_F(BatchDecoderTest, NegativeDelta_GoesBack) {
  AddWait(100, 1);
  AddWait(-60, 200);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("wait 1 0 1000100 1000101 0 0 0 0 0", "wait 1 0 1000040 1000240 0 0 0 0 0"));
}

TEST_F(BatchDecoderTest, ImpossibleTimes_AreLeftOutAndCounted) {
  decoder.SetTimeLimits(1'000'000, 2'000'000);
  AddWait(-1, 5);                       // before the agent
  AddWait(1, 5);                        // good
  AddWait(0, 3'000'000);                // ends in the future
  AddWait(0, ~uint64_t{0});             // would overflow
  AddWait(int64_t{-1} << 62, 1);        // far below zero
  AddWait((int64_t{1} << 62) + 10, 1);  // back again
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("wait 1 0 1000000 1000005 0 0 0 0 0", "wait 1 0 1000010 1000011 0 0 0 0 0"));
  EXPECT_EQ(decoder.counts().bad_time, 4u);
  EXPECT_EQ(decoder.counts().events, 2u);
}

TEST_F(BatchDecoderTest, UnknownKinds_AreSkippedAndCounted) {
  batch.mutable_gpu_ops()->add_kind(99);
  batch.mutable_gpu_ops()->add_kind(1);
  batch.mutable_ranges()->add_kind(77);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(decoder.counts().unknown_kind, 2u);
}

TEST_F(BatchDecoderTest, HandleArguments_AreRawAgainAndBytesAreLeftAlone) {
  v1::CudaCalls* calls = batch.mutable_cuda_calls();
  for (const auto call_class : {wire::CudaCallClass::kSyncEvent, wire::CudaCallClass::kCopyAsync}) {
    calls->add_call_class(static_cast<uint32_t>(call_class));
    calls->add_stream(5);
    calls->add_argument(5);
    calls->add_correlation_delta(4);
  }
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("cuda 1 0 0 8 0 0 1000000 1000000 4 0 244834610757359 244834610757359 0",
                                       "cuda 1 0 0 3 0 0 1000000 1000000 8 0 244834610757359 5 0"));
}

TEST_F(BatchDecoderTest, GapBetweenBatches_IsALossWithItsTimes) {
  AddWait(0, 10);
  batch.set_first_record(0);
  batch.set_record_count(1);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  batch.set_base_ns(5'000'000);
  batch.set_first_record(8);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.Only("loss"), ElementsAre("loss 1 7 1000010 5000000"));
  EXPECT_EQ(decoder.counts().lost_records, 7u);
}

TEST_F(BatchDecoderTest, BatchSentTwice_IsTakenOnce) {
  AddWait(0, 10);
  batch.set_record_count(1);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(decoder.counts().duplicates, 1u);
}

TEST_F(BatchDecoderTest, BatchSentAgainInOtherPieces_GivesOnlyWhatIsNew) {
  AddWait(0, 10);
  AddWait(20, 10);
  batch.set_record_count(2);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  AddWait(20, 10);
  AddWait(20, 10);
  batch.set_record_count(4);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("wait 1 0 1000000 1000010 0 0 0 0 0", "wait 1 0 1000020 1000030 0 0 0 0 0",
                                       "wait 1 0 1000040 1000050 0 0 0 0 0", "wait 1 0 1000060 1000070 0 0 0 0 0"));
}

TEST_F(BatchDecoderTest, StreamingThatBeginsAfterTheMemoryWasDrained_IsNoLoss) {
  registry.AddThread(kFirstCollectorId, 200, "worker", 1000);
  AddWait(0, 10);
  batch.set_thread(kFirstCollectorId);
  batch.set_record_count(1);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  registry.AddThread(2, 200, "worker", 1010);  // the agent names it now, under its own number
  batch.set_thread(2);
  batch.set_first_record(1);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.Only("loss"), IsEmpty());
  EXPECT_EQ(log.Only("wait").size(), 2u);
}

TEST_F(BatchDecoderTest, FirstBatchOfALateCollector_IsNoLoss) {
  decoder.SetStartsInTheMiddle(true);
  AddWait(0, 10);
  batch.set_first_record(5000);
  batch.set_record_count(1);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.Only("loss"), IsEmpty());
}

TEST_F(BatchDecoderTest, FirstBatchAfterTheStart_CountsWhatWasOverwrittenBefore) {
  AddWait(0, 10);
  batch.set_first_record(50);
  batch.set_record_count(1);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.Only("loss"), ElementsAre("loss 1 50 1000 1000000"));
}

TEST_F(BatchDecoderTest, UnknownThread_KeepsItsEvents) {
  AddWait(0, 10);
  batch.set_thread(77);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("wait 77 0 1000000 1000010 0 0 0 0 0"));
}

TEST_F(BatchDecoderTest, ThreadSamples_NameTheSampledThread) {
  v1::ThreadSamples* samples = batch.mutable_thread_samples();
  batch.clear_thread();
  samples->add_thread(1);
  samples->add_on_cpu_ns(10);
  samples->add_run_delay_ns(20);
  samples->add_voluntary_switches(30);
  samples->add_involuntary_switches(40);
  ASSERT_TRUE(decoder.Decode(batch, &log).ok());
  EXPECT_THAT(log.lines(), ElementsAre("sample 1 1000000 10 20 30 40"));
}

}  // namespace
}  // namespace stallscope::ingest
