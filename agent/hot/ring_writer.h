// Inline half of Commit, for callers that already have their ThreadState.
#pragma once

#include "agent/hot/process_state.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

// Adds one to a counter that only this thread writes. One instruction, so a signal handler of the same thread cannot
// get between load and store; no lock prefix, since no other thread writes (a reader sees the old or the new value).
// Returns the old value.
inline uint64_t OwnerFetchAdd(std::atomic<uint64_t>* counter) noexcept {
#if defined(__x86_64__)
  uint64_t old = 1;
  __asm__ volatile("xaddq %0, %1" : "+r"(old), "+m"(*counter) : : "memory", "cc");
  return old;
#else
  return counter->fetch_add(1, std::memory_order_relaxed);
#endif
}

// Fetches the line of the next record while the program works on, to be written: a big ring is larger than the caches, and
// the streaming thread has read the line. (GCC's builtin has the instruction only for newer processors than ours need be;
// one without it takes it for a nop.)
inline void PrefetchToWrite(const void* line) noexcept {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

inline void CommitTo(ThreadState* state, const RecordFields& fields) noexcept {
  const uint64_t index = OwnerFetchAdd(&state->slot->head);
  wire::Record* record = &state->ring[index & state->ring_mask];
  record->sequence.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // pairs with the reader's acquire fence before its second look
  record->begin = fields.begin;
  record->duration = fields.duration;
  record->object = fields.object;
  record->argument = fields.argument;
  record->detail = fields.detail;
  record->id = fields.id;
  record->stack = fields.stack;
  record->kind = static_cast<uint16_t>(fields.kind);
  record->call = fields.call;
  record->result = fields.result;
  record->sequence.store(index + 1, std::memory_order_release);  // pairs with the reader's first, acquire, load
  if (__builtin_expect((index & (state->ring_mask >> 2)) == 0, 0)) CareForFullRing(state, index);
  PrefetchToWrite(&state->ring[(index + 1) & state->ring_mask]);
}

inline void CountShortWaitOf(ThreadState* state) noexcept { OwnerFetchAdd(&state->slot->short_waits); }

}  // namespace stallscope::agent
