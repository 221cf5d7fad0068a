// Inline half of the current-wait slot (proto/wire/shm.h, CurrentWait).
#pragma once

#include "agent/hot/process_state.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

inline void PublishWait(wire::CurrentWait* current, const SavedWait& wait) noexcept {
  // One writer, the owning thread. A signal handler that publishes in between restores what it found; the outer
  // publication then goes on and wins, so the version ends even.
  const uint32_t version = current->version.load(std::memory_order_relaxed) | 1;
  current->version.store(version, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  current->kind = wait.kind;
  current->call_plus_one = wait.call_plus_one;
  current->object = wait.object;
  current->begin = wait.begin;
  current->stack = 0;
  current->version.store(version + 1, std::memory_order_release);
}

// `frame`: a stack address of the hook, 0 where waits begin and end in different frames. A published wait whose hook
// lay deeper was left by a longjmp: it is over, and must not come back when this one ends. (On an alternate signal
// stack the comparison may be wrong: then the interrupted wait is shown as over while it goes on.)
inline SavedWait ReplaceWait(ThreadState* state, wire::RecordKind kind, uint16_t call, uint64_t object,
                             uint64_t begin_ticks, uintptr_t frame = 0) noexcept {
  wire::CurrentWait* current = &state->slot->current;
  SavedWait saved;
  saved.call_plus_one = current->call_plus_one;
  if (__builtin_expect(saved.call_plus_one != 0, 0)) {
    saved.kind = current->kind;
    saved.object = current->object;
    saved.begin = current->begin;
    saved.frame = state->wait_frame;
    if (frame != 0 && saved.frame != 0 && saved.frame <= frame) saved.call_plus_one = 0;
  }
  state->wait_frame = frame;
  PublishWait(current, {static_cast<uint16_t>(kind), static_cast<uint16_t>(call + 1), object, begin_ticks});
  return saved;
}

// The running wait turns out to be for this object.
inline void RenameWait(ThreadState* state, uint64_t object) noexcept {
  wire::CurrentWait* current = &state->slot->current;
  PublishWait(current, {current->kind, current->call_plus_one, object, current->begin});
}

inline void RestoreWait(ThreadState* state, const SavedWait& saved) noexcept {
  wire::CurrentWait* current = &state->slot->current;
  if (__builtin_expect(saved.call_plus_one == 0, 1)) {
    current->call_plus_one = 0;  // one store; the other fields mean nothing then
  } else {
    state->wait_frame = saved.frame;
    PublishWait(current, saved);
  }
}

}  // namespace stallscope::agent
