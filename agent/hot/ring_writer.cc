// The ring writer: one record, one cache line, no lock, no shared counter, safe against the thread's own signal
// handlers.
#include "agent/hot/ring_writer.h"

#include <linux/futex.h>

#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

namespace {

// Most are kept for threads of which it is known that they carry GPU records.
constexpr uint32_t kSparedOfThree = 2;

}  // namespace

__attribute__((noinline)) void RingBell() noexcept {
  uint32_t waits = kBellWaits;
  if (g_bell.load(std::memory_order_relaxed) == kBellWaits && g_bell.compare_exchange_strong(waits, kBellRung)) {
    RawSyscall(SYS_futex, AsArgument(&g_bell), FUTEX_WAKE_PRIVATE, 1);
  }
}

__attribute__((noinline)) void CareForFullRing(ThreadState* state, uint64_t index) noexcept {
  const uint32_t bell = g_bell.load(std::memory_order_relaxed);
  const uint64_t size = state->ring_mask + 1;
  const uint64_t waiting = index - state->slot->drained.load(std::memory_order_relaxed);
  if (bell == kBellSilenced || waiting < size / 2 || g_confined.load(std::memory_order_relaxed)) return;
  RingBell();
  // Not in the middle of a wait that a signal handler of this thread has interrupted: it began in this slot.
  if (waiting < size / 4 * 3 || size == g_header->big_ring_records || state->slot->current.call_plus_one != 0) return;
  UseBigRing(g_header->big_ring_count * kSparedOfThree / 3);
}

void Commit(const RecordFields& fields) noexcept {
  if (!ProcessRecords()) return;
  if (ThreadState* state = CurrentThread()) CommitTo(state, fields);
}

void CountShortWait() noexcept {
  if (ThreadState* state = CurrentThread()) CountShortWaitOf(state);
}

}  // namespace stallscope::agent
