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
void AddAmongOthers(ThreadState* state, uint64_t object, uintptr_t frame) noexcept;
void RemoveAmongOthers(ThreadState* state, uint64_t object) noexcept;

inline std::atomic<uint32_t>& WaitersOf(uint64_t object) noexcept {
  return g_waiters[wire::WaiterIndex(object, kWaiterCount)];
}

inline void AddWaiterOf(ThreadState* state, uint64_t object, uintptr_t frame) noexcept {
  if (__builtin_expect(state->waiting_count != 0, 0)) return AddAmongOthers(state, object, frame);
  // The entry is reserved first, so that a signal handler's registration goes above it.
  state->waiting[0].object = 0;
  std::atomic_signal_fence(std::memory_order_release);
  state->waiting_count = 1;
  std::atomic_signal_fence(std::memory_order_release);
  state->waiting[0] = {object, frame};
  // Sequentially consistent: the increment must be visible before the blocking call looks at the object a last time.
  WaitersOf(object).fetch_add(1);
}

inline void RemoveWaiterOf(ThreadState* state, uint64_t object) noexcept {
  if (__builtin_expect(state->waiting_count != 1 || state->waiting[0].object != object, 0)) {
    return RemoveAmongOthers(state, object);
  }
  state->waiting[0].object = 0;
  WaitersOf(object).fetch_sub(1, std::memory_order_relaxed);
  state->waiting_count = 0;
}

}  // namespace stallscope::agent
