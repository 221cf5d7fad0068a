// Where the stacks of the program's threads lie: up to where a thread may read above a frame of its own.
//
// Streaming thread only. glibc puts a thread's control block, whose address is its pthread_t, above the frames of its stack
// and into the same mapping, whoever made the stack; the first thread's is what /proc/self/maps calls [stack]. A thread that
// runs on another stack (sigaltstack, coroutines) is outside of its extent then and gets no stacks.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// Fills ThreadState::stack_low, stack_high and stack_tid of the live slots among the first `slots` that lack them.
void LearnThreadExtents(uint32_t slots) noexcept;

}  // namespace stallscope::agent
