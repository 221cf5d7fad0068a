#include "agent/cupti/buffer_pool.h"

#include <string.h>
#include <sys/mman.h>

namespace stallscope::agent {

bool BufferPool::Map() noexcept {
  constexpr size_t kAll = size_t{kSets} * kBuffers * kBufferBytes;
  void* mapped =
      mmap(nullptr, kAll + kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  memory_ = static_cast<uint8_t*>(mapped);
  discard_ = memory_ + kAll;
  static_assert(kBuffers == 32);
  for (std::atomic<uint32_t>& free_bits : free_) free_bits.store(0xffffffffu, std::memory_order_release);
  return true;
}

uint8_t* BufferPool::Take() noexcept {
  requests_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t set = set_.load(std::memory_order_relaxed);
  uint32_t free_bits = free_[set].load(std::memory_order_relaxed);
  while (free_bits != 0) {
    const uint32_t bit = free_bits & (~free_bits + 1);  // the lowest: recently used memory is warm
    if (free_[set].compare_exchange_weak(free_bits, free_bits & ~bit, std::memory_order_acquire)) {
      return memory_ + (size_t{set} * kBuffers + static_cast<size_t>(__builtin_ctz(bit))) * kBufferBytes;
    }
  }
  discarded_.fetch_add(1, std::memory_order_relaxed);
  return discard_;
}

bool BufferPool::Owns(const uint8_t* buffer) const noexcept {
  return buffer >= memory_ && buffer < discard_ && static_cast<size_t>(buffer - memory_) % kBufferBytes == 0;
}

void BufferPool::Return(uint8_t* buffer) noexcept {
  memset(buffer, 0, kBufferBytes);
  const auto index = static_cast<uint32_t>(static_cast<size_t>(buffer - memory_) / kBufferBytes);
  const uint32_t bit = 1u << index % kBuffers;
  lost_[index / kBuffers].fetch_and(~bit, std::memory_order_relaxed);
  free_[index / kBuffers].fetch_or(bit, std::memory_order_release);
}

uint32_t BufferPool::BeginTurn() noexcept {
  const uint32_t not_back = Outstanding();
  uint32_t set = set_.load(std::memory_order_relaxed);
  if (free_[set].load(std::memory_order_acquire) != 0xffffffffu) set = (set + 1) % kSets;
  lost_[set].store(~free_[set].load(std::memory_order_acquire), std::memory_order_relaxed);
  set_.store(set, std::memory_order_relaxed);
  return not_back;
}

uint32_t BufferPool::Outstanding() const noexcept {
  const uint32_t set = set_.load(std::memory_order_relaxed);
  const uint32_t not_out = free_[set].load(std::memory_order_relaxed) | lost_[set].load(std::memory_order_relaxed);
  return static_cast<uint32_t>(__builtin_popcount(~not_out));
}

}  // namespace stallscope::agent
