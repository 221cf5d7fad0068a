// What a process did with memory and code in a window, as every view shows it.
//
// Written by: MemoryAccount, CodeLoads and GpuPlaces. Read by: the JSON writer and the terminal view. Units in the names;
// what is "live" is as of the last record, everything else of the window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stallscope {

struct MemoryCallReport {
  std::string name;  // "cudaMalloc"
  uint64_t calls = 0, bytes = 0, failed = 0;
  int64_t total_ns = 0, longest_ns = 0;
};

struct MemoryKindReport {
  std::string kind;  // "device", "pinned", "managed"; "registered": the program's own memory, pinned by it
  uint64_t allocations = 0, releases = 0, allocated_bytes = 0, released_bytes = 0;
  uint64_t live_bytes = 0, live_allocations = 0, peak_bytes = 0;
};

struct MemoryPoolReport {
  uint64_t address = 0;
  uint32_t device = 0;
  uint64_t reserved_bytes = 0, used_bytes = 0, peak_reserved_bytes = 0;
  uint64_t trims = 0;  // in the window
};

struct UnifiedMemoryReport {
  uint64_t to_device_bytes = 0, to_host_bytes = 0, between_devices_bytes = 0, remote_mapped_bytes = 0;
  uint64_t cpu_faults = 0, gpu_faults = 0, thrashing = 0, throttled = 0;
  int64_t gpu_fault_ns = 0, throttled_ns = 0;
  bool Any() const {
    return (to_device_bytes | to_host_bytes | between_devices_bytes | remote_mapped_bytes | cpu_faults | gpu_faults |
            thrashing | throttled) != 0;
  }
};

struct MemoryReport {
  double seconds = 0;                   // how long the window is
  std::vector<MemoryCallReport> calls;  // by total, largest first
  std::vector<MemoryKindReport> kinds;  // those that were ever used
  std::vector<MemoryPoolReport> pools;  // those that exist or were trimmed, largest first
  UnifiedMemoryReport unified;
  uint64_t came_and_went_bytes = 0;  // allocated in the window and released in it, or as much as that
  uint64_t unmatched_releases = 0;   // of memory whose allocation was never told of; since the start
  uint64_t untracked = 0;            // allocations beyond what is kept; since the start
  uint64_t refused = 0;              // records with sizes that no memory has; since the start
  bool empty() const { return calls.empty() && kinds.empty() && pools.empty() && !unified.Any(); }
};

struct CodeLoadReport {
  std::string what;  // "compiling PTX"
  uint64_t count = 0, bytes = 0;
  int64_t total_ns = 0, longest_ns = 0;
};

struct ContextReport {
  uint32_t id = 0, device = 0, multiprocessors = 0;
  bool green = false, mps = false;
};

struct NamedReport {
  std::string kind;  // "stream", "context", "device"
  uint64_t value = 0;
  std::string name;
};

}  // namespace stallscope
