// What the HTTP server asks the collector for. All calls come on the collector's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/budget/report.h"

namespace stallscope::serve {

struct ProcessStatus {
  uint32_t process = 0, pid = 0, parent_pid = 0;
  std::string comm, executable, agent_version;
  bool live = false, connected = false, streaming = false, simulated_gpu = false;
  uint64_t events = 0, lost_records = 0, refused_frames = 0, salvaged_records = 0;
};

class LiveSource {
 public:
  virtual ~LiveSource() = default;
  // window_ns <= 0: since the start.
  virtual BudgetReport LiveReport(int64_t window_ns) = 0;
  virtual std::vector<ProcessStatus> LiveProcesses() = 0;
};

}  // namespace stallscope::serve
