#include "agent/hot/waiters.h"

#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

void Drop(WaiterEntry* entry) noexcept {
  const uint64_t object = entry->object;
  entry->object = 0;
  if (object != 0) WaitersOf(object).fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

void AddAmongOthers(ThreadState* state, uint64_t object, uintptr_t frame) noexcept {
  uint32_t count = state->waiting_count;
  while (count > 0) {
    WaiterEntry* top = &state->waiting[count - 1];
    const bool abandoned = top->frame < frame || (top->frame == frame && top->object == object);
    if (top->object != 0 && !abandoned) break;
    Drop(top);
    state->waiting_count = --count;
  }
  if (count == kMaxWaiterEntries) {
    // Full of registrations nobody took back: the oldest goes.
    Drop(&state->waiting[0]);
    for (uint32_t i = 1; i < kMaxWaiterEntries; ++i) state->waiting[i - 1] = state->waiting[i];
    --count;
  }
  // The entry is reserved first, so that a signal handler's registration goes above it.
  state->waiting[count].object = 0;
  state->waiting_count = count + 1;
  std::atomic_signal_fence(std::memory_order_release);
  state->waiting[count] = {object, frame};
  // Sequentially consistent: the increment must be visible before the blocking call looks at the object a last time.
  WaitersOf(object).fetch_add(1);
}

void RemoveAmongOthers(ThreadState* state, uint64_t object) noexcept {
  uint32_t count = state->waiting_count;
  for (uint32_t i = count; i > 0; --i) {
    if (state->waiting[i - 1].object == object) {
      Drop(&state->waiting[i - 1]);
      break;
    }
  }
  while (count > 0 && state->waiting[count - 1].object == 0) --count;
  state->waiting_count = count;
}

void AddWaiter(uint64_t object) noexcept {
  ThreadState* state = CurrentThread();
  if (state != nullptr) AddWaiterOf(state, object, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
}

void RemoveWaiter(uint64_t object) noexcept {
  ThreadState* state = CurrentThread();
  if (state != nullptr) RemoveWaiterOf(state, object);
}

bool SomebodyWaits(uint64_t object) noexcept { return SomebodyWaitsOn(object); }

}  // namespace stallscope::agent
