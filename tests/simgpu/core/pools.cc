#include "tests/simgpu/core/pools.h"

#include <algorithm>
#include <iterator>

namespace simgpu {
namespace {

constexpr uint64_t kGranularityBytes = 512;

uint64_t RoundUp(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + kGranularityBytes - 1) / kGranularityBytes * kGranularityBytes;
}

}  // namespace

Pools::Pools(Memory& memory, int devices) : memory_(memory) {
  for (int device = 0; device < devices; ++device) defaults_.push_back(Create(device, 0));
  current_ = defaults_;
}

Pool* Pools::Create(int device, uint64_t max_bytes) {
  auto pool = std::make_unique<Pool>();
  pool->device = device;
  pool->max_bytes = max_bytes;
  std::lock_guard lock(mutex_);
  Pool* created = pool.get();
  pools_.emplace(created, std::move(pool));
  return created;
}

bool Pools::Destroy(Pool* pool) {
  std::lock_guard lock(mutex_);
  if (!pools_.contains(pool) || std::find(defaults_.begin(), defaults_.end(), pool) != defaults_.end()) return false;
  TrimLocked(pool, 0);
  for (size_t device = 0; device < current_.size(); ++device) {
    if (current_[device] == pool) current_[device] = defaults_[device];
  }
  // Its memory in use goes over to the default pool.
  Pool* heir = defaults_[static_cast<size_t>(pool->device)];
  for (auto& [pointer, piece] : pieces_) {
    if (piece.pool != pool) continue;
    piece.pool = heir;
    heir->used_bytes += piece.bytes;
    heir->reserved_bytes += piece.bytes;
  }
  pools_.erase(pool);
  return true;
}

bool Pools::Exists(const Pool* pool) {
  std::lock_guard lock(mutex_);
  return pools_.contains(pool);
}

Pool* Pools::CurrentOf(int device) {
  std::lock_guard lock(mutex_);
  return current_[static_cast<size_t>(device)];
}

void Pools::SetCurrent(int device, Pool* pool) {
  std::lock_guard lock(mutex_);
  current_[static_cast<size_t>(device)] = pool;
}

void* Pools::Allocate(Pool* pool, uint64_t bytes, bool* grew) {
  bytes = RoundUp(bytes);
  std::lock_guard lock(mutex_);
  void* pointer = nullptr;
  auto fit = pool->resting.lower_bound(bytes);
  if (fit != pool->resting.end() && fit->first <= 2 * bytes) {
    pointer = fit->second;
    bytes = fit->first;
    pool->resting.erase(fit);
    resting_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    *grew = false;
  } else {
    if (pool->max_bytes != 0 && pool->reserved_bytes + bytes > pool->max_bytes) TrimLocked(pool, 0);
    if (pool->max_bytes != 0 && pool->reserved_bytes + bytes > pool->max_bytes) return nullptr;
    pointer = memory_.AllocateDevice(bytes, pool->device);
    if (pointer == nullptr) {
      TrimLocked(pool, 0);
      pointer = memory_.AllocateDevice(bytes, pool->device);
    }
    if (pointer == nullptr) return nullptr;
    pool->reserved_bytes += bytes;
    pool->reserved_high_bytes = std::max(pool->reserved_high_bytes, pool->reserved_bytes);
    *grew = true;
  }
  pool->used_bytes += bytes;
  pool->used_high_bytes = std::max(pool->used_high_bytes, pool->used_bytes);
  pieces_[pointer] = {pool, bytes};
  return pointer;
}

bool Pools::Free(void* pointer) {
  std::lock_guard lock(mutex_);
  auto found = pieces_.find(pointer);
  if (found == pieces_.end()) return false;
  const Piece piece = found->second;
  pieces_.erase(found);
  piece.pool->used_bytes -= piece.bytes;
  piece.pool->resting.emplace(piece.bytes, pointer);
  resting_bytes_.fetch_add(piece.bytes, std::memory_order_relaxed);
  return true;
}

Pool* Pools::PoolOf(const void* pointer) {
  std::lock_guard lock(mutex_);
  auto found = pieces_.find(pointer);
  return found == pieces_.end() ? nullptr : found->second.pool;
}

void Pools::Trim(Pool* pool, uint64_t keep_bytes) {
  std::lock_guard lock(mutex_);
  TrimLocked(pool, keep_bytes);
}

void Pools::AfterSynchronize() {
  if (resting_bytes_.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard lock(mutex_);
  for (auto& [address, pool] : pools_) TrimLocked(pool.get(), pool->release_threshold_bytes);
}

void Pools::TrimLocked(Pool* pool, uint64_t keep_bytes) {
  while (pool->reserved_bytes > keep_bytes && !pool->resting.empty()) {
    auto largest = std::prev(pool->resting.end());
    memory_.FreeDevice(largest->second);
    pool->reserved_bytes -= largest->first;
    resting_bytes_.fetch_sub(largest->first, std::memory_order_relaxed);
    pool->resting.erase(largest);
  }
}

}  // namespace simgpu
