// Whether a process got the CPUs it wanted: from the kernel's counters of its threads (run delay, involuntary switches) and from
// what it is allowed. One thread too many in an engine that spins makes everything many times slower, and no call table shows it.
//
// Single thread, fixed memory: sums by second for the last five minutes, and since the start.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

class CpuShortage {
 public:
  void OnSample(const ThreadSampleEvent& sample);
  void OnCpusAvailable(uint64_t millicpus, bool by_quota) { millicpus_ = millicpus, by_quota_ = by_quota; }
  // Cumulative since the process was first seen.
  void OnThrottled(HostNs at, uint64_t throttled_ns, uint64_t times);

  // What a user must know of the last `window_ns` before `now`; everything for window_ns <= 0. Empty when nothing was short.
  std::vector<std::string> Lines(int64_t window_ns, HostNs now) const;

 private:
  static constexpr int kSeconds = 300;
  struct Sums {
    int64_t second = -1;
    uint64_t on_cpu_ns = 0, run_delay_ns = 0, involuntary = 0, throttled_ns = 0, throttled_times = 0;
    void Add(const Sums& other);
  };
  Sums* At(HostNs at);
  void Count(HostNs at, const Sums& more);

  std::array<Sums, kSeconds> seconds_{};
  Sums total_;
  HostNs first_ = INT64_MAX, last_ = INT64_MIN;
  absl::flat_hash_map<ThreadIndex, ThreadSampleEvent> last_of_thread_;
  uint64_t millicpus_ = 0;  // 0: not known
  bool by_quota_ = false;
  uint64_t throttled_ns_ = 0, throttled_times_ = 0;
};

}  // namespace stallscope
