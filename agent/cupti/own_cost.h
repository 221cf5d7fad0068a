// What the agent's work on CUPTI's behalf costs, in CPU time, added to Header::agent_cpu_ns.
#pragma once

#include <time.h>

#include <cstdint>

#include "agent/hot/recorder.h"

namespace stallscope::agent {

// CPU time of the calling thread so far. One system call.
inline uint64_t ThreadCpuNs() noexcept {
  timespec cpu;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) != 0) return 0;
  return static_cast<uint64_t>(cpu.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(cpu.tv_nsec);
}

inline void AddOwnCost(uint64_t cpu_ns) noexcept {
  if (wire::Header* header = SharedHeader()) header->agent_cpu_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
}

}  // namespace stallscope::agent
