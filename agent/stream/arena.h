// Memory for the streaming thread: whole mappings, made once, never given back while it runs. No malloc: the program's
// allocator may be anything, and may be the thing that is being waited for.
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "agent/hot/raw_syscall.h"

namespace stallscope::agent {

// Zeroed pages, touched only where used; nullptr when there is no room.
template <typename T>
T* MapArray(uint64_t count) noexcept {
  const long result = RawSyscall(SYS_mmap, 0, static_cast<long>(count * sizeof(T)), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<T*>(result);
}

// Leaves nullptr behind: a second call (in a forked child, after the parent's thread had ended) must not unmap what the
// program has put there since.
template <typename T>
void UnmapArray(T*& array, uint64_t count) noexcept {
  if (array != nullptr) RawSyscall(SYS_munmap, AsArgument(array), static_cast<long>(count * sizeof(T)));
  array = nullptr;
}

}  // namespace stallscope::agent
