// Native stacks of blocking calls: what hooks, entry and stream need of this folder.
//
// A thread of the program takes the stack of a wait that it has just ended (TakeStack). It walks its own frames by rules that
// the streaming thread has learned from libunwind (frame_rules.h), interns the result, and puts the number into the record:
// no lock, no allocation, no system call, nothing of libunwind's. Where it comes by code that nobody has asked about yet, it
// leaves a copy of the stack's inner part, and a provisional number; the streaming thread walks the copy, learns what is
// missing, and knows the final number before the record leaves the process. A thread that is blocked for long is walked from
// outside while it is (stack_rounds.h), so that the live view has its stack too.
//
// Off (level without stacks): one load and branch in a recorded wait, nothing elsewhere, and libunwind is not loaded.
#pragma once

#include <cstdint>

#include "agent/hot/process_state.h"

namespace stallscope::agent {

// Waits at least this long have their stack taken; of the shorter ones that are recorded, one in kStackSampling a thread.
inline constexpr uint64_t kStackThresholdNs = 100'000;
void SetStackThreshold(uint64_t threshold_ns) noexcept;  // STALLSCOPE_STACK_THRESHOLD_NS
inline constexpr uint32_t kStackSampling = 1024;

// The stack of a call that has just ended, for RecordFields::stack: a number, a provisional one, or 0. `frame_address`:
// __builtin_frame_address(0) of the hook. Program threads, any context. errno is not touched.
uint32_t TakeStack(ThreadState* thread, uintptr_t frame_address, uint64_t begin_ticks,
                   uint64_t duration_ticks) noexcept;

// The same where stacks are off: nothing. Call this one.
__attribute__((always_inline)) inline uint32_t StackOfCall(ThreadState* thread, uint64_t begin_ticks,
                                                           uint64_t duration_ticks) noexcept {
  if (__builtin_expect((g_header->control.load(std::memory_order_relaxed) & wire::kControlStacks) == 0, 1)) return 0;
  return TakeStack(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), begin_ticks, duration_ticks);
}

// Another shared memory is about to be used: no stacks until the streaming thread has made the table anew. `forked`: in a
// child, where no other thread is.
void ForgetStacks(bool forked) noexcept;

// --- streaming thread

// Before the rings are drained: loads and opens what is needed when stacks were switched on, follows what the program loads
// and unloads, walks the copies that threads have left and the threads that are blocked now.
void RunStackRound(uint64_t now_ns) noexcept;

// What Record::stack says, as a final number; 0: none. Not before the round that follows the record.
uint32_t FinalStack(uint32_t stack) noexcept;

struct KnownStack {
  const uint64_t* frames = nullptr;  // innermost first
  uint32_t count = 0, generation = 0;
  bool cut = false;
};
KnownStack StackById(uint32_t id) noexcept;

}  // namespace stallscope::agent
