// How many CPUs a process may use, and how often its cgroup's quota stopped it: from its affinity and from the cgroup files of
// either version, for its own group and those above it.
//
// Told in State frames (CPUS_AVAILABLE, CPU_THROTTLED) that go to the analysis and the capture alike, each when it changes. Single
// thread. What cannot be read is not said: outside of the collector's view of the cgroup tree (another cgroup namespace) there
// are no quotas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/main/proc_files.h"

namespace stallscope::v1 {
class State;
}

namespace stallscope {

struct CpuAllowance {
  uint32_t affinity_cpus = 0;                      // 0: not known
  uint64_t quota_millicpus = 0;                    // the tightest of the groups; 0: none
  uint64_t throttled_times = 0, throttled_ns = 0;  // cumulative, of the groups that have a quota
  uint64_t millicpus() const {
    const uint64_t affinity = uint64_t{affinity_cpus} * 1000;
    if (quota_millicpus == 0) return affinity;
    return affinity == 0 || quota_millicpus < affinity ? quota_millicpus : affinity;
  }
};

class CpuLimits {
 public:
  CpuLimits(const ProcFiles* proc, uint32_t pid, std::string cgroup_root = "/sys/fs/cgroup")
      : proc_(proc), pid_(pid), cgroup_root_(std::move(cgroup_root)) {}

  CpuAllowance Read() const;
  // What has changed since the last time, at most once a second.
  std::vector<v1::State> Changes(HostNs now);

 private:
  void ReadGroup(const std::string& folder, bool unified, CpuAllowance* allowance) const;

  const ProcFiles* const proc_;
  const uint32_t pid_;
  const std::string cgroup_root_;
  bool read_before_ = false;
  HostNs next_read_ = INT64_MIN;
  CpuAllowance first_, last_;
};

}  // namespace stallscope
