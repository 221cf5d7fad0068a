// Records without end, as a server that replays graphs for days makes them: nothing grows, and each one is either an
// operation or in its counter. A real library was seen to hand out records without times after 25 million.
//
// STALLSCOPE_RECORDS=25000000 runs it at that length (a few seconds); the default is sized for every day.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "agent/cuda/fake_agent.h"
#include "agent/cupti/activity_bytes.h"
#include "agent/cupti/activity_decoder.h"
#include "agent/cupti/buffer_pool.h"

namespace stallscope::agent {
namespace {

using wire::Counter;

constexpr uint64_t kProcessStart = 1'000'000'000;
constexpr uint64_t kFirstBegin = 2'000'000'000;
constexpr uint64_t kUntimedEvery = 97;

uint64_t RecordsWanted() {
  const char* wanted = std::getenv("STALLSCOPE_RECORDS");
  return wanted == nullptr ? 300'000 : std::strtoull(wanted, nullptr, 10);
}

uint64_t ResidentKib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * 4;
}

TEST(RecordFlood, MillionsOfRecords_AreAllAccountedForInFixedMemory) {
  ResetFake();
  UseStridesOf130();
  BufferPool pool;
  ASSERT_TRUE(pool.Map());
  static ActivityDecoder decoder;
  decoder.SetUp(kProcessStart, false);
  decoder.UseParser(TestNextRecord, ProbeRecordSizes(TestNextRecord));
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("_Z" + std::to_string(i) + "kernel");

  constexpr size_t kRecordBytes = sizeof(CUpti_ActivityKernel10);
  constexpr uint64_t kInABuffer = BufferPool::kBufferBytes / kRecordBytes;
  const uint64_t wanted = RecordsWanted();
  uint64_t made = 0, untimed = 0, operations = 0, resident_kib = 0, lost_order = 0;
  while (made < wanted) {
    uint8_t* buffer = pool.Take();
    ASSERT_TRUE(pool.Owns(buffer));
    CUpti_ActivityKernel10 kernel = {};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    for (uint64_t i = 0; i < kInABuffer; ++i, ++made) {
      const bool has_time = made % kUntimedEvery != 0;
      untimed += !has_time;
      kernel.start = has_time ? kFirstBegin + made * 1000 : 0;
      kernel.end = has_time ? kernel.start + 900 : 0;
      kernel.correlationId = static_cast<uint32_t>(made / 2500 + 1);
      kernel.graphId =
          1 + static_cast<uint32_t>(made / 100'000 % 3);  // executable graphs come and go, their ids return
      kernel.name = names[made % names.size()].c_str();
      std::memcpy(buffer + i * kRecordBytes, &kernel, kRecordBytes);
    }
    operations += decoder.Decode(buffer, kInABuffer * kRecordBytes, kFirstBegin + made * 1000 + 1'000'000);
    for (size_t i = 1; i < Fake().records.size(); ++i)
      lost_order += Fake().records[i].begin < Fake().records[i - 1].begin;
    Fake().records.clear();
    pool.Return(buffer);
    if (resident_kib == 0) resident_kib = ResidentKib();  // everything has been touched once
  }
  EXPECT_EQ(operations, made - untimed);
  EXPECT_EQ(Fake().CountOf(Counter::kGpuZeroTime), untimed);
  EXPECT_EQ(lost_order, 0u);
  EXPECT_EQ(Fake().strings.size(), names.size());
  EXPECT_EQ(pool.discarded(), 0u);
  EXPECT_LE(ResidentKib(), resident_kib + 1024) << "it grew over " << made << " records";
}

}  // namespace
}  // namespace stallscope::agent
