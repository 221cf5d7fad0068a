// For tests and the benchmark: stacks in a shared memory of their own, and a thread at a known depth.
#pragma once

#include "agent/hot/test_memory.h"
#include "agent/stacks/stack_rounds.h"
#include "agent/stacks/stacks.h"

namespace stallscope::agent {

class TestStacks {
 public:
  TestStacks() {
    memory_.header()->control.store(static_cast<uint32_t>(wire::Level::kBudget) | wire::kControlRecording |
                                    wire::kControlStacks);
    thread_ = CurrentThread();
    RunStackRound(MonotonicNs());
  }
  ~TestStacks() { ForgetStacks(/*forked=*/false); }
  bool available() const { return !g_stack_rounds.missing(); }
  ThreadState* thread() { return thread_; }
  wire::Header* header() { return memory_.header(); }

 private:
  TestMemory memory_;
  ThreadState* thread_ = nullptr;
};

// Runs `work` `depth` calls further in, each call a frame of its own.
template <typename Work>
__attribute__((noinline)) int AtDepth(int depth, Work& work) {
  if (depth == 0) return work();
  const int result = AtDepth(depth - 1, work);
  __asm__ volatile("" ::: "memory");  // no tail call
  return result + 1;
}

// The stack of a call of one second that has just ended here.
__attribute__((noinline)) inline uint32_t TakeHere(ThreadState* thread) {
  return TakeStack(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), 1, 1'000'000'000);
}

}  // namespace stallscope::agent
