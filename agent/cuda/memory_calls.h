// What an allocating, freeing or pinning call did to memory, as the call itself tells it: for what CUPTI has no records of
// (pinning of the program's own memory, physical memory of the virtual memory interface), and for everything while CUPTI's
// memory records do not come.
//
// Written on the thread that made the call, after it succeeded. Times are host nanoseconds (proto/wire/shm.h, kMemory).
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "proto/wire/calls.h"

namespace stallscope::agent {

// The `argument` of a call in runtime_calls.h or driver_calls.h that is more than a number of bytes.
struct MemoryArgument {
  wire::MemoryOperation operation;
  uint8_t kind;  // CUpti_ActivityMemoryKind
  uint64_t address, bytes;
  bool always = false;  // CUPTI never tells of it
};

inline constexpr uint8_t kPageableMemory = 1, kPinnedMemory = 2, kDeviceMemory = 3, kManagedMemory = 5;

template <typename Address>
uint64_t AddressOf(Address address) {
  if constexpr (std::is_pointer_v<Address>) {
    return reinterpret_cast<uint64_t>(address);
  } else {
    return static_cast<uint64_t>(address);
  }
}
template <typename Address>
MemoryArgument Allocated(uint8_t kind, Address address, uint64_t bytes) {
  return {wire::MemoryOperation::kAllocate, kind, AddressOf(address), bytes};
}
template <typename Address>
MemoryArgument Freed(uint8_t kind, Address address) {
  return {wire::MemoryOperation::kRelease, kind, AddressOf(address), 0};
}
template <typename Address>
MemoryArgument Pinned(Address address, uint64_t bytes) {
  return {wire::MemoryOperation::kRegister, kPageableMemory, AddressOf(address), bytes, true};
}
template <typename Address>
MemoryArgument Unpinned(Address address) {
  return {wire::MemoryOperation::kUnregister, kPageableMemory, AddressOf(address), 0, true};
}
template <typename Address>
MemoryArgument Trimmed(Address pool, uint64_t bytes_to_keep) {
  return {wire::MemoryOperation::kPoolTrim, kDeviceMemory, AddressOf(pool), bytes_to_keep};
}
inline MemoryArgument Always(MemoryArgument argument) {
  argument.always = true;
  return argument;
}

// In the tables' expressions an argument is a number, a handle or this.
template <typename T>
MemoryArgument MemoryOf(T) {
  return {wire::MemoryOperation{0}, 0, 0, 0};
}
template <>
inline MemoryArgument MemoryOf(MemoryArgument argument) {
  return argument;
}
template <typename T>
inline constexpr bool kIsMemory = std::is_same_v<T, MemoryArgument>;

// Whether CUPTI's own memory records are on; then a call's own word is needed only where they say nothing.
extern std::atomic<bool> g_memory_records_come;

// The call has succeeded.
void NoteMemory(const MemoryArgument& argument, uint32_t correlation_id) noexcept;

}  // namespace stallscope::agent
