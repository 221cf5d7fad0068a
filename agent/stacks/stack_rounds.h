// The streaming thread's part of stacks (stacks.h): one object, called once a round and for each record with a stack.
//
// Streaming thread only.
#pragma once

#include "agent/hot/process_state.h"
#include "agent/stacks/module_map.h"
#include "agent/stacks/stack_state.h"
#include "agent/stacks/unwind_library.h"

namespace stallscope::agent {

class StackRounds {
 public:
  void Run(uint64_t now_ns) noexcept;
  uint32_t Final(uint32_t stack) noexcept;

  // nullptr: stacks are not open in this memory.
  Stacks* stacks() noexcept {
    return g_stacks.load(std::memory_order_relaxed) != nullptr && open_in_ == g_header ? stacks_ : nullptr;
  }
  ModuleMap* modules() noexcept { return &modules_; }
  bool missing() const noexcept { return missing_; }  // libunwind is not there

 private:
  bool Open() noexcept;
  bool FollowModules() noexcept;
  void LearnExtents() noexcept;
  void LookAtBlocked(uint64_t now_ns) noexcept;
  void LookAtBlocked(uint32_t index, uint64_t now_ns) noexcept;
  void FinishCopy(StackCopy* copy) noexcept;
  // Walks a copy, asking for the rules that are missing; 0: nothing came of it.
  uint32_t WalkAndLearn(const FramePlace& place, const StackExtent& extent, uint32_t unloads) noexcept;

  Stacks* stacks_ = nullptr;
  std::atomic<uint64_t>* index_ = nullptr;
  uint64_t* looked_at_ = nullptr;  // by slot: begin of the wait that was walked last
  uint8_t* copied_ = nullptr;      // a blocked thread's stack
  wire::Header* open_in_ = nullptr;
  ModuleMap modules_;
  UnwindLibrary library_;
  bool missing_ = false;
};

extern StackRounds g_stack_rounds;

}  // namespace stallscope::agent
