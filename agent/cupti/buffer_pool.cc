#include "agent/cupti/buffer_pool.h"

#include <string.h>
#include <sys/mman.h>

namespace stallscope::agent {

bool BufferPool::Map() noexcept {
  void* mapped = mmap(nullptr, (kBuffers + 1) * kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  memory_ = static_cast<uint8_t*>(mapped);
  discard_ = memory_ + kBuffers * kBufferBytes;
  static_assert(kBuffers == 32);
  free_.store(0xffffffffu, std::memory_order_release);
  return true;
}

uint8_t* BufferPool::Take() noexcept {
  uint32_t free_bits = free_.load(std::memory_order_relaxed);
  while (free_bits != 0) {
    const uint32_t bit = free_bits & (~free_bits + 1);  // the lowest: recently used memory is warm
    if (free_.compare_exchange_weak(free_bits, free_bits & ~bit, std::memory_order_acquire)) {
      return memory_ + static_cast<size_t>(__builtin_ctz(bit)) * kBufferBytes;
    }
  }
  return discard_;
}

bool BufferPool::Owns(const uint8_t* buffer) const noexcept {
  return buffer >= memory_ && buffer < discard_ && static_cast<size_t>(buffer - memory_) % kBufferBytes == 0;
}

void BufferPool::Return(uint8_t* buffer) noexcept {
  memset(buffer, 0, kBufferBytes);
  const auto index = static_cast<uint32_t>(static_cast<size_t>(buffer - memory_) / kBufferBytes);
  free_.fetch_or(1u << index, std::memory_order_release);
}

uint32_t BufferPool::Outstanding() const noexcept {
  return kBuffers - static_cast<uint32_t>(__builtin_popcount(free_.load(std::memory_order_relaxed)));
}

}  // namespace stallscope::agent
