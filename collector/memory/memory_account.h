// Keeps the books of a process's memory: what is live, what came and went by the second, what the calls cost.
//
// Written by: ProcessAnalysis, which passes the events on. Read by: its Report. Single thread. Memory is bounded: at most
// kMaxLive allocations are known one by one, the seconds of the last five minutes, kMaxPools pools. Times are host
// nanoseconds. A record comes some 100 ms after its call and in the order in which the library wrote it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/memory/memory_report.h"
#include "collector/memory/memory_words.h"

namespace stallscope {

class MemoryAccount {
 public:
  static constexpr size_t kMaxLive = 1 << 20, kMaxPools = 256, kMaxCallNames = 64;
  static constexpr uint64_t kLargestBytes = uint64_t{1} << 48;  // no process has more

  void OnMemory(const MemoryEvent& event);
  // Every CUDA call may be given; those that have nothing to do with memory are left out.
  void OnCall(const CudaCallEvent& call);

  // The last `window_ns` before `now`; everything for window_ns <= 0. Names are CUPTI's, cut of their version.
  MemoryReport Report(int64_t window_ns, HostNs now, const ProcessNames& names) const;

 private:
  static constexpr int kSeconds = 301;
  static constexpr int kRegistered = kMemoryKinds;  // behind CUPTI's kinds
  static constexpr int kKinds = kMemoryKinds + 1;

  struct Allocation {
    uint64_t bytes = 0;
    uint64_t pool = 0;
    HostNs since = 0;
    uint8_t kind = 0;
  };
  struct KindSums {
    uint64_t allocations = 0, releases = 0, allocated_bytes = 0, released_bytes = 0, peak_bytes = 0;
  };
  struct CallSums {
    uint32_t key = 0;  // domain << 16 | call
    uint64_t calls = 0, bytes = 0, failed = 0;
    int64_t total_ns = 0, longest_ns = 0;
    void Add(const CallSums& other);
  };
  struct Sums {
    int64_t second = INT64_MIN;
    std::array<KindSums, kKinds> kinds{};
    std::vector<CallSums> calls;
    std::vector<std::pair<uint64_t, uint64_t>> trims;  // by pool
    UnifiedMemoryReport unified;
    void Add(const Sums& other);
    CallSums* Call(uint32_t key);
  };
  struct Live {
    uint64_t bytes = 0, allocations = 0;
  };
  struct Pool {
    uint32_t device = 0;
    uint64_t reserved_bytes = 0, used_bytes = 0, peak_reserved_bytes = 0;
    bool exists = true;
  };

  // The second of `at`; a scratch one when that is more than five minutes ago.
  Sums* At(HostNs at);
  template <typename Change>
  void Count(HostNs at, const Change& change);
  void Allocate(const MemoryEvent& event, int kind);
  void Release(const MemoryEvent& event, int kind);
  void Forget(HostNs at, const Allocation& allocation);
  Pool* PoolOf(uint64_t address);

  std::vector<Sums> seconds_ = std::vector<Sums>(kSeconds);
  Sums total_, beyond_;
  absl::flat_hash_map<uint64_t, Allocation> live_, registered_;  // by address
  absl::flat_hash_map<uint64_t, Pool> pools_;
  std::array<Live, kKinds> live_of_kind_{};
  uint64_t unmatched_releases_ = 0, untracked_ = 0, refused_ = 0;
  HostNs first_ = INT64_MAX, last_ = INT64_MIN;
};

}  // namespace stallscope
