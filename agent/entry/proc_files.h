// What /proc and /sys say about this process, read with plain system calls into the caller's memory.
#pragma once

#include <cstdint>

namespace stallscope::agent {

struct ProcessIdentity {
  char boot_id[40];
  char executable[512];  // path of the program, cut if longer
  char comm[17];
  uint32_t pid, parent_pid, uid;
  uint64_t start_ticks;  // field 22 of /proc/self/stat, clock ticks since boot
};
void ReadIdentity(ProcessIdentity* identity) noexcept;

// Reads up to capacity - 1 bytes and ends them with NUL. Returns how many, negative errno on failure.
long ReadSmallFile(const char* path, char* buffer, uint32_t capacity) noexcept;

// Threads of this process as the kernel counts them (a zombie leader counts); 0: unknown.
uint32_t ThreadCount() noexcept;

// The first thread has ended while others live (pthread_exit in main).
bool LeaderIsZombie() noexcept;

// May Ticks() be the TSC: invariant by CPUID, trusted by the kernel as its own clock, and not forbidden by prctl.
bool TscIsTrustworthy() noexcept;

}  // namespace stallscope::agent
