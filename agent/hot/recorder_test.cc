#include "agent/hot/recorder.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "agent/hot/current_wait.h"
#include "agent/hot/string_table.h"
#include "agent/hot/test_memory.h"
#include "agent/hot/waiters.h"

namespace stallscope::agent {
namespace {

RecordFields Wait(uint64_t begin) {
  return {.begin = begin, .duration = 5, .kind = wire::RecordKind::kWait, .call = 3};
}

TEST(Recorder, NotSetUp_DoesNothing) {
  EXPECT_FALSE(Recording());
  EXPECT_EQ(SharedHeader(), nullptr);
  Commit(Wait(1));
  AddWaiter(42);
  EXPECT_FALSE(SomebodyWaits(42));
  EXPECT_EQ(InternString("x", 1), 0u);
}

TEST(Recorder, Commit_WritesOneCompleteRecordInOrder) {
  TestMemory memory;
  ASSERT_TRUE(Recording());
  for (uint64_t i = 0; i < 3; ++i) Commit(Wait(100 + i));
  EXPECT_EQ(memory.header()->slots_used.load(), 1u);
  EXPECT_EQ(memory.slot(0)->tid, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(memory.slot(0)->head.load(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(memory.ring(0)[i].sequence.load(), i + 1);
    EXPECT_EQ(memory.ring(0)[i].begin, 100 + i);
    EXPECT_EQ(memory.ring(0)[i].call, 3u);
  }
}

TEST(Recorder, Commit_KeepsErrno) {
  TestMemory memory;
  errno = 12345;
  Commit(Wait(1));  // claims the slot: system calls
  EXPECT_EQ(errno, 12345);
}

// Commits as many records as are missing to `head`, and says whether the bell was rung meanwhile.
bool RingsUpTo(TestMemory* memory, uint64_t head) {
  while (memory->slot(0)->head.load() < head) Commit(Wait(1));
  return g_bell.load() == kBellRung;
}

TEST(Recorder, RingHalfFull_WakesWhoeverEmptiesIt) {
  TestMemory memory;
  Commit(Wait(1));
  const uint64_t size = memory.header()->ring_records;
  g_bell.store(kBellWaits);
  EXPECT_FALSE(RingsUpTo(&memory, size / 2));
  EXPECT_TRUE(RingsUpTo(&memory, size / 2 + 1));
  // Taken out: the next half is counted from there.
  memory.slot(0)->drained.store(size / 2);
  g_bell.store(kBellWaits);
  EXPECT_FALSE(RingsUpTo(&memory, size));
  EXPECT_TRUE(RingsUpTo(&memory, size + 1));
  g_bell.store(kBellSilenced);
}

TEST(Recorder, RingNearlyFull_GoesOnInABigOne) {
  TestMemory memory;
  const uint64_t size = memory.header()->ring_records;
  g_bell.store(kBellSilenced);  // nobody listens: the ring runs over, and the thread keeps it
  for (uint64_t i = 0; i < 2 * size; ++i) Commit(Wait(1));
  EXPECT_EQ(memory.header()->slots_used.load(), 1u);
  memory.slot(0)->drained.store(2 * size);
  g_bell.store(kBellWaits);
  for (uint64_t i = 0; i < 2 * size; ++i) Commit(Wait(1));
  // The first slot is left as it was, to be emptied; nothing was overwritten.
  EXPECT_EQ(memory.slot(0)->state.load(), static_cast<uint32_t>(wire::SlotState::kExited));
  EXPECT_LT(memory.slot(0)->head.load() - memory.slot(0)->drained.load(), size);
  EXPECT_EQ(memory.slot(1)->tid, memory.slot(0)->tid);
  EXPECT_GT(memory.slot(1)->big_ring_plus_one, memory.header()->big_ring_count / 2) << "others are spared";
  EXPECT_EQ(memory.slot(0)->head.load() + memory.slot(1)->head.load(), 4 * size);
  g_bell.store(kBellSilenced);
}

TEST(Recorder, RingHalfFull_ConfinedProcess_MakesNoSystemCall) {
  TestMemory memory;
  Commit(Wait(1));
  g_bell.store(kBellWaits);
  g_confined.store(true);
  EXPECT_FALSE(RingsUpTo(&memory, memory.header()->ring_records));
  g_confined.store(false);
  g_bell.store(kBellSilenced);
}

TEST(Recorder, ControlOff_RecordsNothing) {
  TestMemory memory;
  memory.header()->control.store(0);
  EXPECT_FALSE(Recording());
  Commit(Wait(1));
  EXPECT_EQ(memory.header()->slots_used.load(), 0u);
}

TEST(Recorder, InsideAgent_RecordsNothing) {
  TestMemory memory;
  InsideAgent guard;
  Commit(Wait(1));
  EXPECT_EQ(memory.header()->slots_used.load(), 0u);
}

TEST(Recorder, EachThread_GetsItsOwnSlot) {
  TestMemory memory;
  constexpr int kThreads = 200;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&barrier] {
      pthread_barrier_wait(&barrier);
      Commit(Wait(7));
      pthread_barrier_wait(&barrier);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(memory.header()->slots_used.load(), static_cast<uint32_t>(kThreads));
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(memory.slot(i)->head.load(), 1u);
}

TEST(Recorder, ReleasedSlot_IsReusedWithANewGeneration) {
  TestMemory memory;
  std::thread([] { Commit(Wait(1)); }).join();
  const uint32_t generation = memory.slot(0)->generation;
  ReleaseThread(&g_threads[0]);
  EXPECT_EQ(memory.slot(0)->state.load(), static_cast<uint32_t>(wire::SlotState::kFree));
  std::thread([] { Commit(Wait(2)); }).join();
  EXPECT_EQ(memory.header()->slots_used.load(), 1u);
  EXPECT_EQ(memory.slot(0)->generation, generation + 1);
  EXPECT_EQ(memory.slot(0)->head.load(), 1u);
}

TEST(Recorder, SlotsExhausted_IsCountedAndHarmless) {
  TestMemory memory;
  for (uint32_t i = 0; i < memory.header()->slot_count; ++i) g_threads[i].taken.store(1);
  Commit(Wait(1));
  EXPECT_EQ(memory.header()->counters[static_cast<uint32_t>(wire::Counter::kSlotsExhausted)].load(), 1u);
  g_threads[5].taken.store(0);
  Commit(Wait(1));  // another thread ended meanwhile
  EXPECT_EQ(memory.slot(5)->head.load(), 1u);
}

TEST(Recorder, UseBigRing_MovesTheThreadToAFreshSlotAndKeepsWhatItRecorded) {
  TestMemory memory;
  Commit(Wait(1));
  ASSERT_TRUE(UseBigRing());
  EXPECT_EQ(memory.slot(0)->state.load(), static_cast<uint32_t>(wire::SlotState::kExited));
  EXPECT_EQ(memory.slot(0)->head.load(), 1u);
  EXPECT_EQ(memory.slot(1)->big_ring_plus_one, 1u);
  Commit(Wait(2));
  EXPECT_EQ(memory.slot(1)->head.load(), 1u);
  EXPECT_TRUE(UseBigRing());  // has one already
  EXPECT_EQ(memory.header()->big_rings_used.load(), 1u);
}

TEST(Recorder, ForkedChild_RecordsNothingIntoTheParentsMemory) {
  TestMemory memory;
  Commit(Wait(1));
  const pid_t child = fork();
  if (child == 0) {
    const bool quiet = !Recording() && SharedHeader() == nullptr;
    Commit(Wait(2));
    AddWaiter(99);
    _exit(quiet ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(memory.slot(0)->head.load(), 1u);
  EXPECT_FALSE(SomebodyWaits(99));
}

TEST(CurrentWait, OuterHookLeftByAJump_DoesNotComeBack) {
  TestMemory memory;
  ThreadState* thread = CurrentThread();
  const wire::CurrentWait& current = memory.slot(0)->current;
  constexpr uintptr_t kDeep = 0x1000, kShallow = 0x2000;
  // Its hook never ends: the program has jumped out of it, to a frame further up.
  ReplaceWait(thread, wire::RecordKind::kWait, 1, 11, 1000, kDeep);
  const SavedWait saved = ReplaceWait(thread, wire::RecordKind::kWait, 2, 22, 2000, kShallow);
  EXPECT_EQ(current.call_plus_one, 3);
  RestoreWait(thread, saved);
  EXPECT_EQ(current.call_plus_one, 0);
}

TEST(CurrentWait, InnerHookOfASignalHandler_RestoresTheOuterOne) {
  TestMemory memory;
  ThreadState* thread = CurrentThread();
  const wire::CurrentWait& current = memory.slot(0)->current;
  constexpr uintptr_t kDeep = 0x1000, kDeeper = 0x0800, kShallow = 0x2000;
  const SavedWait outer = ReplaceWait(thread, wire::RecordKind::kWait, 1, 11, 1000, kShallow);
  const SavedWait inner = ReplaceWait(thread, wire::RecordKind::kWait, 2, 22, 2000, kDeep);
  const SavedWait innermost = ReplaceWait(thread, wire::RecordKind::kWait, 3, 33, 3000, kDeeper);
  RestoreWait(thread, innermost);
  EXPECT_EQ(current.object, 22u);
  RestoreWait(thread, inner);
  EXPECT_EQ(current.call_plus_one, 2);
  EXPECT_EQ(current.object, 11u);
  RestoreWait(thread, outer);
  EXPECT_EQ(current.call_plus_one, 0);
}

TEST(CurrentWait, Nested_RestoresTheOuterOne) {
  TestMemory memory;
  const SavedWait outer = BeginWait(wire::RecordKind::kWait, 1, 11, 1000);
  const wire::CurrentWait& current = memory.slot(0)->current;
  EXPECT_EQ(current.call_plus_one, 2u);
  const SavedWait inner = BeginWait(wire::RecordKind::kCudaCall, 5, 55, 2000);
  EXPECT_EQ(current.object, 55u);
  EndWait(inner);
  EXPECT_EQ(current.call_plus_one, 2u);
  EXPECT_EQ(current.object, 11u);
  EXPECT_EQ(current.begin, 1000u);
  EXPECT_EQ(current.version.load() % 2, 0u);
  EndWait(outer);
  EXPECT_EQ(current.call_plus_one, 0u);
}

TEST(Waiters, AddAndRemove_CountPerObject) {
  TestMemory memory;
  EXPECT_FALSE(SomebodyWaits(0x1000));
  AddWaiter(0x1000);
  EXPECT_TRUE(SomebodyWaits(0x1000));
  EXPECT_FALSE(SomebodyWaits(0x2000));
  RemoveWaiter(0x1000);
  EXPECT_FALSE(SomebodyWaits(0x1000));
  RemoveWaiter(0x1000);  // not registered: changes nothing
  EXPECT_FALSE(SomebodyWaits(0x1000));
}

TEST(Waiters, AbandonedByALongjmp_IsTakenBackByTheNextWait) {
  TestMemory memory;
  Commit(Wait(1));
  ThreadState* thread = CurrentThread();
  AddWaiterOf(thread, 0x1000, /*frame=*/5000);
  AddWaiterOf(thread, 0x2000, /*frame=*/6000);  // a frame further out, so the first one is gone
  EXPECT_FALSE(SomebodyWaits(0x1000));
  EXPECT_TRUE(SomebodyWaits(0x2000));
  AddWaiterOf(thread, 0x3000, /*frame=*/4000);  // nested, as from a signal handler
  EXPECT_TRUE(SomebodyWaits(0x2000));
  RemoveWaiterOf(thread, 0x3000);
  RemoveWaiterOf(thread, 0x2000);
  EXPECT_EQ(thread->waiting_count, 0u);
}

TEST(Waiters, ThreadEndsInAWait_IsTakenBackWithItsSlot) {
  TestMemory memory;
  std::thread([] { AddWaiter(0x1000); }).join();
  EXPECT_TRUE(SomebodyWaits(0x1000));
  ReleaseThread(&g_threads[0]);
  EXPECT_FALSE(SomebodyWaits(0x1000));
}

TEST(Waiters, TooManyRegistrations_DropTheOldest) {
  TestMemory memory;
  Commit(Wait(1));
  ThreadState* thread = CurrentThread();
  for (uint64_t i = 0; i < kMaxWaiterEntries + 1; ++i) AddWaiterOf(thread, 0x1000 + i * 64, 9000 - i);
  EXPECT_FALSE(SomebodyWaits(0x1000));
  EXPECT_TRUE(SomebodyWaits(0x1000 + 64));
  EXPECT_EQ(thread->waiting_count, kMaxWaiterEntries);
}

TEST(StringTable, SameBytes_SameId) {
  TestMemory memory;
  const uint32_t id = InternString("volta_gemm", 10);
  EXPECT_EQ(id, 1u);
  EXPECT_EQ(InternString("volta_gemm", 10), id);
  EXPECT_EQ(InternString("volta_gem", 9), 2u);
  uint32_t length = 0;
  const char* text = StringBytes(memory.header(), id, &length);
  EXPECT_EQ(std::string(text, length), "volta_gemm");
  EXPECT_EQ(StringBytes(memory.header(), 3, &length), nullptr);
}

TEST(StringTable, Full_CountsAndReturnsNone) {
  TestMemory memory;
  for (uint32_t i = 0; i < memory.header()->string_capacity; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_NE(InternString(text.data(), static_cast<uint32_t>(text.size())), 0u);
  }
  EXPECT_EQ(InternString("one more", 8), 0u);
  EXPECT_EQ(InternString("7", 1), 8u);
  EXPECT_EQ(memory.header()->counters[static_cast<uint32_t>(wire::Counter::kStringsExhausted)].load(), 1u);
}

TEST(StringTable, ManyThreads_AgreeOnIds) {
  TestMemory memory;
  std::vector<std::vector<uint32_t>> ids(8);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 500; ++i) {
        const std::string text = "name" + std::to_string(i);
        mine.push_back(InternString(text.data(), static_cast<uint32_t>(text.size())));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : ids) EXPECT_EQ(mine, ids[0]);
  EXPECT_EQ(memory.header()->strings_used.load(), 500u);
}

}  // namespace
}  // namespace stallscope::agent
