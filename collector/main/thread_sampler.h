// On-CPU time, run delay and context switches of every thread of a process, as frames: the kernel's side of the story
// for threads that never call anything the agent hooks (spin barriers) as much as for those that do.
//
// Single thread. Keeps the last counters of each thread; a thread whose counters did not move gives no row. All
// counters are cumulative since the thread began, so a row left out loses nothing.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/ingest/limits.h"
#include "collector/main/proc_files.h"

namespace stallscope::v1 {
class Frame;
}

namespace stallscope {

class ThreadSampler {
 public:
  // `pid` as this host sees it. `boot_offset_ns`: CLOCK_BOOTTIME less CLOCK_MONOTONIC (time asleep).
  ThreadSampler(const ProcFiles* proc, uint32_t pid, int64_t boot_offset_ns)
      : proc_(proc), pid_(pid), boot_offset_ns_(boot_offset_ns) {}

  // Fills `names` with threads seen for the first time and `samples` with a row for each thread that ran. Either may
  // stay without a body.
  void Sample(HostNs now, v1::Frame* names, v1::Frame* samples);

 private:
  struct Known {
    uint32_t id = 0;
    std::string status_name;
    ProcThreadTimes times;
    uint64_t round = 0;
  };
  // Says who the thread is, or its new name.
  bool Introduce(uint32_t tid, const ProcThreadStatus& status, bool is_another_thread, Known* known, v1::Frame* names);

  const ProcFiles* const proc_;
  const uint32_t pid_;
  const int64_t boot_offset_ns_;
  absl::flat_hash_map<uint32_t, Known> threads_;
  uint32_t next_id_ = ingest::kFirstSampledThreadId;
  uint64_t round_ = 0;
};

}  // namespace stallscope
