#include "tests/simgpu/core/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

namespace simgpu {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kDeviceAlignment = 512;  // what cudaMalloc promises in practice
constexpr uint64_t kAddressSpaceBytes = uint64_t{1} << 40;
constexpr uint64_t kManagedSpaceBytes = uint64_t{1} << 38;
constexpr uint64_t kLargeFillBytes = uint64_t{1} << 20;

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

// Drops the whole pages inside a range: they read as zero afterwards and cost nothing.
void DropPages(uintptr_t begin, uint64_t bytes) {
  const uintptr_t first = RoundUp(begin, kPageBytes);
  const uintptr_t last = (begin + bytes) / kPageBytes * kPageBytes;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

AddressRange::AddressRange(uint64_t bytes) {
  for (; bytes >= kPageBytes; bytes /= 2) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    madvise(base, bytes, MADV_DONTDUMP);
    base_ = reinterpret_cast<uintptr_t>(base);
    bytes_ = bytes;
    free_[base_] = bytes_;
    return;
  }
}

AddressRange::~AddressRange() {
  if (base_ != 0) munmap(reinterpret_cast<void*>(base_), bytes_);
}

void* AddressRange::Allocate(uint64_t bytes, uint64_t alignment, int device) {
  bytes = RoundUp(bytes == 0 ? 1 : bytes, kDeviceAlignment);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const uintptr_t begin = RoundUp(hole->first, alignment);
    const uintptr_t hole_end = hole->first + hole->second;
    if (begin + bytes > hole_end || begin + bytes < begin) continue;
    const uintptr_t hole_begin = hole->first;
    free_.erase(hole);
    if (begin > hole_begin) free_[hole_begin] = begin - hole_begin;
    if (begin + bytes < hole_end) free_[begin + bytes] = hole_end - begin - bytes;
    used_[begin] = {bytes, device};
    return reinterpret_cast<void*>(begin);
  }
  return nullptr;
}

uint64_t AddressRange::Free(void* pointer) {
  auto found = used_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == used_.end()) return 0;
  const uint64_t given_back = found->second.bytes;
  uintptr_t begin = found->first;
  uint64_t bytes = given_back;
  used_.erase(found);
  DropPages(begin, bytes);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && begin + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      previous->second += bytes;
      return given_back;
    }
  }
  free_[begin] = bytes;
  return given_back;
}

bool AddressRange::Find(const void* pointer, uintptr_t* begin, uint64_t* bytes, int* device) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto after = used_.upper_bound(address);
  if (after == used_.begin()) return false;
  --after;
  if (address >= after->first + after->second.bytes) return false;
  *begin = after->first;
  *bytes = after->second.bytes;
  if (device != nullptr) *device = after->second.device;
  return true;
}

Memory::Memory(uint64_t capacity_bytes_of_a_device, int devices)
    : capacity_bytes_(capacity_bytes_of_a_device),
      device_(kAddressSpaceBytes),
      managed_(kManagedSpaceBytes),
      used_bytes_(static_cast<size_t>(devices), 0) {}

Memory::~Memory() {
  for (const auto& [begin, range] : pinned_) {
    if (!range.registered) std::free(reinterpret_cast<void*>(begin));
  }
}

void* Memory::AllocateDevice(uint64_t bytes, int device) {
  std::lock_guard lock(mutex_);
  uint64_t& used_bytes = used_bytes_[static_cast<size_t>(device)];
  if (bytes > capacity_bytes_ - used_bytes) return nullptr;
  // Whole pages of their own, as far as they go: what is shared between processes is shared by the page.
  void* pointer = device_.Allocate(bytes, bytes >= kPageBytes ? kPageBytes : kDeviceAlignment, device);
  if (pointer != nullptr) used_bytes += RoundUp(bytes == 0 ? 1 : bytes, kDeviceAlignment);
  return pointer;
}

void* Memory::AllocateManaged(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  return managed_.Allocate(bytes, kDeviceAlignment);
}

bool Memory::FreeDevice(void* pointer) {
  std::lock_guard lock(mutex_);
  if (managed_.Contains(pointer)) return managed_.Free(pointer) != 0;
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  int device = 0;
  if (!device_.Find(pointer, &begin, &bytes, &device) || device_.Free(pointer) == 0) return false;
  used_bytes_[static_cast<size_t>(device)] -= bytes;
  return true;
}

void* Memory::AllocatePinned(uint64_t bytes) {
  bytes = RoundUp(bytes == 0 ? 1 : bytes, kPageBytes);
  void* pointer = std::aligned_alloc(kPageBytes, bytes);
  if (pointer == nullptr) return nullptr;
  std::lock_guard lock(pinned_mutex_);
  pinned_[reinterpret_cast<uintptr_t>(pointer)] = {bytes, false};
  return pointer;
}

bool Memory::FreePinned(void* pointer) {
  {
    std::lock_guard lock(pinned_mutex_);
    auto found = pinned_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == pinned_.end() || found->second.registered) return false;
    pinned_.erase(found);
  }
  std::free(pointer);
  return true;
}

bool Memory::RegisterPinned(void* pointer, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard lock(pinned_mutex_);
  auto next = pinned_.lower_bound(begin);
  if (next != pinned_.end() && next->first < begin + bytes) return false;
  if (next != pinned_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second.bytes > begin) return false;
  }
  pinned_[begin] = {bytes, true};
  return true;
}

bool Memory::UnregisterPinned(void* pointer) {
  std::lock_guard lock(pinned_mutex_);
  auto found = pinned_.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == pinned_.end() || !found->second.registered) return false;
  pinned_.erase(found);
  return true;
}

void* Memory::ReserveAddress(uint64_t bytes, uint64_t alignment) {
  std::lock_guard lock(mutex_);
  return device_.Allocate(bytes, alignment < kDeviceAlignment ? kDeviceAlignment : alignment);
}

bool Memory::ReleaseAddress(void* pointer) {
  std::lock_guard lock(mutex_);
  return device_.Free(pointer) != 0;
}

bool Memory::TakeBytes(uint64_t bytes, int device) {
  std::lock_guard lock(mutex_);
  uint64_t& used_bytes = used_bytes_[static_cast<size_t>(device)];
  if (bytes > capacity_bytes_ - used_bytes) return false;
  used_bytes += bytes;
  return true;
}

void Memory::GiveBytes(uint64_t bytes, int device) {
  std::lock_guard lock(mutex_);
  used_bytes_[static_cast<size_t>(device)] -= bytes;
}

MemoryKind Memory::KindOf(const void* pointer) const {
  if (device_.Contains(pointer)) return MemoryKind::kDevice;
  if (managed_.Contains(pointer)) return MemoryKind::kManaged;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::shared_lock lock(pinned_mutex_);
  auto after = pinned_.upper_bound(address);
  if (after == pinned_.begin()) return MemoryKind::kPageable;
  --after;
  return address < after->first + after->second.bytes ? MemoryKind::kPinned : MemoryKind::kPageable;
}

bool Memory::FindAllocation(const void* pointer, uintptr_t* begin, uint64_t* bytes) const {
  std::lock_guard lock(mutex_);
  return device_.Find(pointer, begin, bytes) || managed_.Find(pointer, begin, bytes);
}

int Memory::DeviceOf(const void* pointer) const {
  if (!device_.Contains(pointer)) return 0;
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  int device = 0;
  std::lock_guard lock(mutex_);
  device_.Find(pointer, &begin, &bytes, &device);
  return device;
}

uint64_t Memory::FreeBytes(int device) const {
  std::lock_guard lock(mutex_);
  return capacity_bytes_ - used_bytes_[static_cast<size_t>(device)];
}

void FillBytes(void* destination, uint8_t value, uint64_t bytes, bool device_memory) {
  if (value == 0 && device_memory && bytes >= kLargeFillBytes) {
    auto* begin = static_cast<char*>(destination);
    const uint64_t head = RoundUp(reinterpret_cast<uintptr_t>(begin), kPageBytes) - reinterpret_cast<uintptr_t>(begin);
    const uint64_t body = (bytes - head) / kPageBytes * kPageBytes;
    std::memset(begin, 0, head);
    DropPages(reinterpret_cast<uintptr_t>(begin) + head, body);
    std::memset(begin + head + body, 0, bytes - head - body);
    return;
  }
  std::memset(destination, value, bytes);
}

}  // namespace simgpu
