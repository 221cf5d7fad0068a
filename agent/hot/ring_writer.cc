// The ring writer: one record, one cache line, no lock, no shared counter, safe against the thread's own signal
// handlers.
#include "agent/hot/ring_writer.h"

#include <linux/futex.h>

#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

__attribute__((noinline)) void RingBellWhenHalfFull(const ThreadState* state, uint64_t index) noexcept {
  if (g_bell.load(std::memory_order_relaxed) != 0) return;
  if (index - state->slot->drained.load(std::memory_order_relaxed) <= state->ring_mask / 2) return;
  if (g_confined.load(std::memory_order_relaxed) || g_bell.exchange(1) != 0) return;
  RawSyscall(SYS_futex, AsArgument(&g_bell), FUTEX_WAKE_PRIVATE, 1);
}

void Commit(const RecordFields& fields) noexcept {
  if (!ProcessRecords()) return;
  if (ThreadState* state = CurrentThread()) CommitTo(state, fields);
}

void CountShortWait() noexcept {
  if (ThreadState* state = CurrentThread()) CountShortWaitOf(state);
}

}  // namespace stallscope::agent
