// The ring under attack: signal handlers that record in the middle of a record, a reader that is overwritten, SIGKILL
// at any point.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "agent/hot/test_memory.h"
#include "agent/stream/ring_reader.h"

namespace stallscope::agent {
namespace {

// Fields that depend on each other: a record made of two writes shows.
RecordFields Linked(uint64_t number, uint64_t source) {
  return {.begin = number,
          .duration = number * 3,
          .object = number ^ 0x5555,
          .argument = source,
          .detail = number + source,
          .kind = wire::RecordKind::kWait};
}

bool IsWhole(const PlainRecord& record) {
  return record.duration == record.begin * 3 && record.object == (record.begin ^ 0x5555) &&
         record.detail == record.begin + record.argument;
}

struct Reading {
  uint64_t accepted = 0, torn = 0, lost = 0;
  uint64_t position = 0;
  uint64_t from_source[2] = {};

  void Read(const wire::ThreadSlot& slot, const wire::Record* ring, uint64_t ring_records, bool give_up = false) {
    static thread_local PlainRecord records[1024];
    const ReadResult read = ReadRing(slot, ring, ring_records, position, give_up, records, 1024);
    for (uint32_t i = 0; i < read.count; ++i) {
      if (IsWhole(records[i])) {
        ++accepted;
        ++from_source[records[i].argument & 1];
      } else {
        ++torn;
      }
    }
    lost += read.lost;
    position = read.first + read.count;
  }
};

std::atomic<uint64_t> g_handler_records{0};

void RecordInHandler(int) {
  const uint64_t number = g_handler_records.fetch_add(1);
  Commit(Linked(number, 1));
}

TEST(RingTorture, SignalHandlersRecordToo_NothingIsLost) {
  TestMemory memory;
  struct sigaction action = {};
  action.sa_handler = RecordInHandler;
  g_handler_records = 0;
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval every_50_us = {{0, 50}, {0, 50}}, never = {};
  ASSERT_EQ(setitimer(ITIMER_REAL, &every_50_us, nullptr), 0);
  Reading reading;
  uint64_t written = 0;
  while (g_handler_records.load() < 3'000) {
    // One thread writes and reads, so that whatever is missing was lost by the writer.
    for (int i = 0; i < 500; ++i) Commit(Linked(written++, 0));
    while (reading.position < memory.slot(0)->head.load()) {
      reading.Read(*memory.slot(0), memory.ring(0), memory.header()->ring_records);
    }
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  const uint64_t handled = g_handler_records.load();
  while (reading.position < memory.slot(0)->head.load()) {
    reading.Read(*memory.slot(0), memory.ring(0), memory.header()->ring_records);
  }
  EXPECT_EQ(memory.slot(0)->head.load(), written + handled);
  EXPECT_EQ(reading.torn, 0u);
  EXPECT_EQ(reading.lost, 0u);
  EXPECT_EQ(reading.from_source[0], written);
  EXPECT_EQ(reading.from_source[1], handled);
}

TEST(RingTorture, WriterOvertakesTheReader_LossIsCountedExactlyAndNothingIsTorn) {
  TestMemory memory;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; i < 20'000'000 && !stop.load(std::memory_order_relaxed); ++i) Commit(Linked(i, 0));
  });
  Reading reading;
  while (memory.header()->slots_used.load() == 0) sched_yield();
  // A reader that keeps up would lose nothing.
  while (memory.slot(0)->head.load() < 2 * memory.header()->ring_records) sched_yield();
  while (reading.lost < 100'000) {
    reading.Read(*memory.slot(0), memory.ring(0), memory.header()->ring_records);
    if (memory.slot(0)->head.load() == 20'000'000) break;
  }
  stop = true;
  writer.join();
  while (reading.position < memory.slot(0)->head.load()) {
    reading.Read(*memory.slot(0), memory.ring(0), memory.header()->ring_records, /*give_up=*/true);
  }
  EXPECT_EQ(reading.torn, 0u);
  EXPECT_GT(reading.lost, 0u);
  EXPECT_GT(reading.accepted, 0u);
  EXPECT_EQ(reading.accepted + reading.lost, memory.slot(0)->head.load());
}

TEST(RingTorture, SigkillAtAnyPoint_EverythingCommittedIsRecovered) {
  // The child counts a record as committed only after Commit returned; a shared page tells the parent.
  auto* committed = static_cast<std::atomic<uint64_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::mt19937 random(12345);
  uint64_t recovered = 0, unfinished = 0;
  for (int trial = 0; trial < 200; ++trial) {
    committed->store(0);
    TestMemory memory;
    const uint32_t ring_records = memory.header()->ring_records;
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      g_epoch->epoch.store(1'000'000 + trial);  // as if set up in this process
      for (uint64_t i = 0;; ++i) {
        Commit(Linked(i, 0));
        committed->store(i + 1, std::memory_order_release);
      }
    }
    while (committed->load() == 0) sched_yield();
    for (uint32_t i = random() % 20'000; i > 0; --i) __asm__ volatile("pause");
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);

    const uint64_t count = committed->load(std::memory_order_acquire);
    Reading reading;
    const uint64_t head = memory.slot(0)->head.load();
    while (reading.position < head) reading.Read(*memory.slot(0), memory.ring(0), ring_records, /*give_up=*/true);
    ASSERT_EQ(reading.torn, 0u);
    // Committed and not overwritten: all of it must be there. The one in progress may be there or not.
    const uint64_t overwritten = head > ring_records ? head - ring_records : 0;
    ASSERT_GE(reading.accepted + overwritten, count);
    ASSERT_LE(reading.lost - overwritten, 1u);
    recovered += reading.accepted;
    unfinished += reading.lost - overwritten;
  }
  munmap(committed, 4096);
  RecordProperty("recovered", std::to_string(recovered));
  RecordProperty("unfinished", std::to_string(unfinished));
}

}  // namespace
}  // namespace stallscope::agent
