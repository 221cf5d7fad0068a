#include "collector/ingest/shm_image.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/ingest/limits.h"
#include "collector/ingest/shm_builder.h"

namespace stallscope::ingest {
namespace {

using ::testing::HasSubstr;

RawRecord Wait(uint64_t begin, uint64_t duration) {
  RawRecord record;
  record.kind = wire::RecordKind::kWait;
  record.begin = begin;
  record.duration = duration;
  return record;
}

std::string MapError(int fd) { return std::string(ShmImage::Map(fd).status().message()); }

TEST(ShmImage, UnsealedMemfd_IsRefused) {
  const int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(fd, 1 << 20), 0);
  EXPECT_THAT(MapError(fd), HasSubstr("not sealed"));
}

TEST(ShmImage, OrdinaryFileOrPipe_IsRefused) {
  EXPECT_THAT(MapError(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), HasSubstr("no "));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[1]);
  EXPECT_THAT(MapError(ends[0]), HasSubstr("no memfd"));
  EXPECT_NE(MapError(-1), "");
}

TEST(ShmImage, SealedButEmpty_IsRefused) {
  const int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_THAT(MapError(fd), HasSubstr("0 bytes"));
}

TEST(ShmImage, EveryLayoutFieldOutOfRange_IsRefused) {
  const auto check = [](void (*damage)(wire::Header*)) {
    ShmBuilder builder;
    ASSERT_TRUE(ShmImage::Map(builder.DuplicateFd()).ok());
    damage(builder.header());
    EXPECT_FALSE(ShmImage::Map(builder.DuplicateFd()).ok());
  };
  check([](wire::Header* h) { h->magic ^= 1; });
  check([](wire::Header* h) { h->version_major = 2; });
  check([](wire::Header* h) { h->total_bytes += 4096; });
  check([](wire::Header* h) { h->slots_offset = ~uint64_t{63}; });
  check([](wire::Header* h) { h->slots_offset += 8; });
  check([](wire::Header* h) { h->slots_offset = 0; });
  check([](wire::Header* h) { h->slot_count = ~0u; });
  check([](wire::Header* h) { h->slot_count = 60000; });
  check([](wire::Header* h) { h->ring_records = 0; });
  check([](wire::Header* h) { h->ring_records = 24; });
  check([](wire::Header* h) { h->ring_records = 1u << 31; });
  check([](wire::Header* h) { h->rings_offset = h->total_bytes; });
  check([](wire::Header* h) { h->big_rings_offset = h->total_bytes - 64; });
  check([](wire::Header* h) { h->big_ring_count = ~0u; });
  check([](wire::Header* h) { h->string_bytes = ~0u; });
  check([](wire::Header* h) { h->strings_offset = ~uint64_t{3}; });
  check([](wire::Header* h) { h->string_capacity = ~0u; });
}

TEST(ShmImage, LayoutChangedAfterTheCheck_IsNotBelieved) {
  ShmBuilder builder;
  builder.TakeSlot(0, 100, 0, "main");
  builder.Commit(0, Wait(5, 6));
  auto image = ShmImage::Map(builder.DuplicateFd());
  ASSERT_TRUE(image.ok());
  builder.header()->slots_offset = ~uint64_t{63};
  builder.header()->ring_records = 1u << 31;
  builder.header()->slots_used = ~0u;
  EXPECT_EQ((*image)->slots_used(), 4u);
  ShmSlot slot;
  ASSERT_TRUE((*image)->ReadSlot(0, &slot));
  EXPECT_EQ(slot.name, "main");
  std::vector<RawRecord> records;
  EXPECT_EQ((*image)->ReadRing(slot, 0, 100, true, &records).next, 1u);
  EXPECT_EQ(records.at(0).duration, 6u);
}

TEST(ShmImage, RingThatCameRound_GivesTheNewestAndSaysWhatIsGone) {
  ShmBuilder builder;
  builder.TakeSlot(0, 100, 0, "main");
  for (uint64_t i = 0; i < 40; ++i) builder.Commit(0, Wait(i, 1));
  auto image = ShmImage::Map(builder.DuplicateFd());
  ShmSlot slot;
  ASSERT_TRUE((*image)->ReadSlot(0, &slot));
  std::vector<RawRecord> records;
  const auto read = (*image)->ReadRing(slot, 3, 100, false, &records);
  EXPECT_EQ(read.first, 24u);
  EXPECT_EQ(read.next, 40u);
  EXPECT_EQ(records.size(), 16u);
  EXPECT_EQ(records.front().begin, 24u);
}

TEST(ShmImage, HalfWrittenRecord_StopsALiveReadAndIsDroppedByAFinalOne) {
  ShmBuilder builder;
  builder.TakeSlot(0, 100, 0, "main");
  builder.Commit(0, Wait(1, 1));
  builder.CommitHalf(0, Wait(2, 1));
  builder.Commit(0, Wait(3, 1));
  auto image = ShmImage::Map(builder.DuplicateFd());
  ShmSlot slot;
  ASSERT_TRUE((*image)->ReadSlot(0, &slot));
  std::vector<RawRecord> records;
  EXPECT_EQ((*image)->ReadRing(slot, 0, 100, false, &records).next, 1u);
  records.clear();
  const auto read = (*image)->ReadRing(slot, 0, 100, true, &records);
  EXPECT_EQ(read.next, 3u);
  EXPECT_EQ(read.torn, 1u);
  EXPECT_EQ(records.size(), 2u);
}

TEST(ShmImage, RecordOfTheSlotsFormerThread_IsNotTakenForTheNewOnes) {
  ShmBuilder builder;
  builder.TakeSlot(0, 100, 10, "old");
  builder.Commit(0, Wait(11, 1));
  builder.TakeSlot(0, 200, 5000, "new");
  builder.slot(0)->head.store(1);  // reserved, not yet begun: the old record still stands there, whole
  auto image = ShmImage::Map(builder.DuplicateFd());
  ShmSlot slot;
  ASSERT_TRUE((*image)->ReadSlot(0, &slot));
  std::vector<RawRecord> records;
  EXPECT_EQ((*image)->ReadRing(slot, 0, 100, true, &records).torn, 1u);
  EXPECT_TRUE(records.empty());
}

TEST(ShmImage, HeadThatLies_EndsAfterOneRing) {
  ShmBuilder builder;
  builder.TakeSlot(0, 100, 0, "main");
  builder.slot(0)->head.store(~uint64_t{0} - 5);
  auto image = ShmImage::Map(builder.DuplicateFd());
  ShmSlot slot;
  ASSERT_TRUE((*image)->ReadSlot(0, &slot));
  std::vector<RawRecord> records;
  const auto read = (*image)->ReadRing(slot, 0, 1000, true, &records);
  EXPECT_EQ(read.consumed, 16u);
  EXPECT_TRUE(records.empty());
}

TEST(ShmImage, BigRing_IsFoundAndItsNumberChecked) {
  ShmBuilder builder;
  builder.TakeSlot(1, 100, 0, "cupti");
  builder.slot(1)->big_ring_plus_one = 1;
  for (uint64_t i = 0; i < 50; ++i) builder.Commit(1, Wait(i, 1));
  auto image = ShmImage::Map(builder.DuplicateFd());
  ShmSlot slot;
  ASSERT_TRUE((*image)->ReadSlot(1, &slot));
  std::vector<RawRecord> records;
  (*image)->ReadRing(slot, 0, 1000, true, &records);
  EXPECT_EQ(records.size(), 50u);
  builder.slot(1)->big_ring_plus_one = 2;
  EXPECT_FALSE((*image)->ReadSlot(1, &slot));
}

TEST(ShmImage, Strings_AreCheckedAgainstTheTable) {
  ShmBuilder builder;
  const uint32_t id = builder.AddString("gemm");
  auto image = ShmImage::Map(builder.DuplicateFd());
  EXPECT_EQ((*image)->ReadString(id), "gemm");
  EXPECT_EQ((*image)->ReadString(0), std::nullopt);
  EXPECT_EQ((*image)->ReadString(id + 1), std::nullopt);
  auto* offset =
      reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(builder.header()) + builder.header()->strings_offset);
  *offset = 4093;  // its length would lie over the end
  EXPECT_EQ((*image)->ReadString(id), std::nullopt);
  *offset = ~0u;
  EXPECT_EQ((*image)->ReadString(id), std::nullopt);
  builder.header()->strings_used = ~0u;
  EXPECT_EQ((*image)->ReadString(~0u), std::nullopt);
}

TEST(ShmImage, CurrentWait_IsReadOnlyWhenWhole) {
  ShmBuilder builder;
  builder.TakeSlot(0, 100, 0, "main");
  auto image = ShmImage::Map(builder.DuplicateFd());
  EXPECT_FALSE((*image)->ReadCurrentWait(0).has_value());
  builder.Block(0, wire::RecordKind::kWait, static_cast<uint16_t>(wire::OsCall::kEpollWait), wire::FdObject(7), 123);
  auto wait = (*image)->ReadCurrentWait(0);
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(wait->call, static_cast<uint16_t>(wire::OsCall::kEpollWait));
  EXPECT_EQ(wait->object, wire::FdObject(7));
  builder.slot(0)->current.version.store(1);  // stays odd: its writer died inside
  EXPECT_FALSE((*image)->ReadCurrentWait(0).has_value());
  EXPECT_FALSE((*image)->ReadCurrentWait(99).has_value());
}

TEST(ShmClock, TicksBeforeAndAfterTheBase_Convert) {
  const ShmClock clock{1000, 5'000'000, 3, 1};  // 1.5 ns a tick
  EXPECT_EQ(clock.ToHostNs(1000), 5'000'000);
  EXPECT_EQ(clock.ToHostNs(1100), 5'000'150);
  EXPECT_EQ(clock.ToHostNs(900), 4'999'850);
  EXPECT_EQ(clock.ToHostNs(999), 4'999'998);  // -1.5 towards minus infinity
  EXPECT_EQ(clock.DurationNs(3), 4u);
}

TEST(ShmClock, AbsurdValues_StayInRange) {
  const ShmClock clock{~uint64_t{0} / 2, ~uint64_t{0}, ~uint64_t{0}, 0};
  for (const uint64_t ticks : {uint64_t{0}, uint64_t{1}, ~uint64_t{0} / 2, ~uint64_t{0}}) {
    EXPECT_GE(clock.ToHostNs(ticks), 0);
    EXPECT_LE(clock.ToHostNs(ticks), kMaxHostNs);
    EXPECT_LE(clock.DurationNs(ticks), static_cast<uint64_t>(kMaxHostNs));
  }
}

}  // namespace
}  // namespace stallscope::ingest
