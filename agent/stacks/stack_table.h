// The shared table of stacks: each different one once, under a small number that events carry.
//
// It lies in the shared memory (proto/wire/shm.h), so that readers need nothing of this process; the index over it is private.
// Interning is lock-free, allocates nothing and makes no system call: any thread of the program, signal handlers too. Two
// threads that meet a new stack at the same moment may each get a number for it. A full table gives 0, counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/wire/shm.h"

namespace stallscope::agent {

class StackTable {
 public:
  // Cells of the index over `capacity` stacks: a power of two.
  static uint32_t IndexCells(uint32_t capacity) noexcept;

  // The table in `header`'s memory, whose part for stacks can be touched by now; `index` has IndexCells zeroed cells.
  void Use(wire::Header* header, std::atomic<uint64_t>* index) noexcept;

  // The number of that stack, 0 when the table is full. `hash` is the walk's.
  uint32_t Intern(const uint64_t* frames, uint32_t count, uint32_t generation, bool cut, uint64_t hash) noexcept;

  struct Stack {
    const uint64_t* frames = nullptr;
    uint32_t count = 0, generation = 0;
    bool cut = false;
  };
  // A stack without frames when there is no such number, or its thread has not finished writing it.
  Stack Get(uint32_t id) const noexcept;
  uint32_t used() const noexcept;

 private:
  bool Same(uint32_t id, const uint64_t* frames, uint32_t count, uint32_t generation, bool cut) const noexcept;

  wire::Header* header_ = nullptr;
  wire::StackEntry* entries_ = nullptr;
  uint64_t* frames_ = nullptr;
  std::atomic<uint64_t>* index_ = nullptr;  // high half of the hash, and the number
  uint32_t capacity_ = 0, frame_capacity_ = 0, index_mask_ = 0;
};

}  // namespace stallscope::agent
