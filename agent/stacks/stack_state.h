// The memory that program threads and the streaming thread share for stacks. Private to agent/stacks.
//
// One object a process, made by the streaming thread when stacks are first wanted. Program threads reach it through
// g_stacks, nullptr until it is ready.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/stacks/frame_rules.h"
#include "agent/stacks/stack_table.h"
#include "agent/stacks/stack_walk.h"

namespace stallscope::agent {

// How often the program has begun and ended a dlclose (unload_hook.cc). Equal: none is under way.
extern std::atomic<uint32_t> g_unloads_begun, g_unloads_ended;

// The inner part of a thread's stack, left for the streaming thread.
struct StackCopy {
  static constexpr uint32_t kBytes = 32u << 10;
  enum State : uint32_t { kFree, kFilling, kFull };
  std::atomic<uint32_t> state;
  uint32_t provisional;     // the number in the record
  uint32_t unloads;         // g_unloads_begun when it was made
  uint32_t rounds_filling;  // streaming thread: a thread that left a copy half-made never comes back to it
  FramePlace place;         // where the walk begins
  uint64_t low, bytes;      // what was copied
  alignas(64) uint8_t content[kBytes];
};

struct Stacks {
  static constexpr uint32_t kCopies = 24;
  static constexpr uint32_t kProvisional = 4096;  // so many are remembered

  // Which map of modules the rules were learned in, and up to which unload it is right: generation << 32 | unloads. 0: none.
  // A walk counts only if this is the same before and after it, and no unload has begun.
  std::atomic<uint64_t> map;
  std::atomic<uint32_t> next_provisional;
  FrameRules rules;
  FrameRules::Cell rule_cells[FrameRules::kCells];
  CodeExtent own;
  StackTable table;
  StackCopy copies[kCopies];
  // Streaming thread: what provisional numbers became.
  uint32_t provisional[kProvisional], final_number[kProvisional];
};

extern std::atomic<Stacks*> g_stacks;

constexpr uint32_t GenerationOf(uint64_t map) noexcept { return static_cast<uint32_t>(map >> 32); }
constexpr uint32_t UnloadsOf(uint64_t map) noexcept { return static_cast<uint32_t>(map); }

}  // namespace stallscope::agent
