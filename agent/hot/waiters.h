// Inline half of the waiters table, and its bookkeeping per thread.
#pragma once

#include "agent/hot/process_state.h"

namespace stallscope::agent {

inline bool SomebodyWaitsOn(uint64_t object) noexcept {
  return g_waiters[wire::WaiterIndex(object, kWaiterCount)].load(std::memory_order_relaxed) != 0;
}

// `frame`: an address in the caller's stack frame. Registrations of frames that lie deeper than this one were left by a
// longjmp or a cancellation, and are taken back here. (On an alternate signal stack the comparison may be wrong: then
// an interrupted wait loses its registration, and with it one wake edge, never more.)
void AddWaiterOf(ThreadState* state, uint64_t object, uintptr_t frame) noexcept;
void RemoveWaiterOf(ThreadState* state, uint64_t object) noexcept;

}  // namespace stallscope::agent
