// The memfd of proto/wire/shm.h: sizes, creation, and putting it into use.
//
// Made at set-up and again in each forked child, on the program's thread, by system calls only. Mapped whole, but only
// header, waiters and slots can be touched from the start: agent/hot opens the strings at the first one and a ring when
// its slot is first claimed (OpenSharedMemory in process_state.h). Readers are described in shm.h. Failure (no memfd, a
// limit in the way, no memory) leaves the process untraced and everything else as it was.
#pragma once

#include <cstdint>

#include "proto/wire/shm.h"

namespace stallscope::agent {

struct SharedMemory {
  wire::Header* header = nullptr;  // start of the mapping
  uint64_t bytes = 0;
  int fd = -1;                   // at or above kFirstOwnFd, close-on-exec
  void* private_base = nullptr;  // thread states and string index
  uint64_t private_bytes = 0;
};

// Why there is none, for the log; nullptr when it was made.
const char* CreateSharedMemory(uint64_t now_ns, SharedMemory* memory) noexcept;

// Makes it the one that the hooks record into. The clock must have been started in its header.
void UseSharedMemory(const SharedMemory& memory, uint32_t epoch) noexcept;

// Unmaps what was left by a forked child's parent.
void UnmapSharedMemory(const SharedMemory& memory) noexcept;

// Makes the wipe-on-fork page once per process image. False: this kernel has no MADV_WIPEONFORK (before 4.14).
bool CreateEpochPage() noexcept;

}  // namespace stallscope::agent
