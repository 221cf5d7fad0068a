#include "agent/stacks/stack_table.h"

#include "agent/hot/recorder.h"
#include "agent/stacks/word_copy.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kNumber = 0xffff'ffffu;

// Takes `by` of what is left, or nothing.
bool Take(std::atomic<uint32_t>* used, uint32_t by, uint32_t capacity, uint32_t* first) noexcept {
  uint32_t before = used->load(std::memory_order_relaxed);
  do {
    if (before > capacity || by > capacity - before) return false;
  } while (!used->compare_exchange_weak(before, before + by, std::memory_order_relaxed));
  *first = before;
  return true;
}

}  // namespace

uint32_t StackTable::IndexCells(uint32_t capacity) noexcept {
  uint32_t cells = 64;
  while (cells < 2 * capacity) cells *= 2;
  return cells;
}

void StackTable::Use(wire::Header* header, std::atomic<uint64_t>* index) noexcept {
  header_ = header;
  capacity_ = header->stack_capacity;
  frame_capacity_ = header->stack_frame_capacity;
  entries_ = reinterpret_cast<wire::StackEntry*>(reinterpret_cast<uint8_t*>(header) + header->stacks_offset);
  frames_ = reinterpret_cast<uint64_t*>(entries_ + capacity_);
  index_ = index;
  index_mask_ = IndexCells(capacity_) - 1;
}

uint32_t StackTable::used() const noexcept {
  const uint32_t used = header_->stacks_used.load(std::memory_order_acquire);
  return used < capacity_ ? used : capacity_;
}

StackTable::Stack StackTable::Get(uint32_t id) const noexcept {
  if (id == 0 || id > capacity_) return {};
  const wire::StackEntry& entry = entries_[id - 1];
  const uint32_t count = entry.frame_count.load(std::memory_order_acquire);  // pairs with Intern's release
  if (count == 0) return {};
  return {frames_ + entry.first_frame, count, entry.generation, (entry.flags & wire::kStackCut) != 0};
}

bool StackTable::Same(uint32_t id, const uint64_t* frames, uint32_t count, uint32_t generation,
                      bool cut) const noexcept {
  const Stack known = Get(id);
  return known.count == count && known.generation == generation && known.cut == cut &&
         SameWords(known.frames, frames, count);
}

uint32_t StackTable::Intern(const uint64_t* frames, uint32_t count, uint32_t generation, bool cut,
                            uint64_t hash) noexcept {
  if (count == 0) return 0;
  hash = (hash ^ generation ^ (cut ? 0x55u : 0u)) * 0x9e3779b97f4a7c15u;
  const uint64_t mark = hash & ~kNumber;
  uint32_t at = static_cast<uint32_t>(hash) & index_mask_;
  uint64_t cell;
  for (; (cell = index_[at].load(std::memory_order_acquire)) != 0; at = (at + 1) & index_mask_) {
    if ((cell & ~kNumber) != mark) continue;
    const auto id = static_cast<uint32_t>(cell & kNumber);
    if (Same(id, frames, count, generation, cut)) return id;
  }
  uint32_t first_frame = 0, index = 0;
  if (!Take(&header_->stack_frames_used, count, frame_capacity_, &first_frame) ||
      !Take(&header_->stacks_used, 1, capacity_, &index)) {
    Count(wire::Counter::kStacksExhausted);
    return 0;
  }
  wire::StackEntry& entry = entries_[index];
  CopyWords(frames_ + first_frame, frames, count);
  entry.first_frame = first_frame;
  entry.generation = generation;
  entry.flags = cut ? wire::kStackCut : 0;
  entry.frame_count.store(count, std::memory_order_release);  // pairs with the readers' acquire
  for (;; at = (at + 1) & index_mask_) {
    uint64_t empty = 0;
    if (index_[at].load(std::memory_order_relaxed) == 0 &&
        index_[at].compare_exchange_strong(empty, mark | (index + 1), std::memory_order_release)) {
      return index + 1;
    }
  }
}

}  // namespace stallscope::agent
