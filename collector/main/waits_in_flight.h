// Threads that waited already when the agent came to a running process: it sees them at their next call only, so until then
// the kernel is asked.
//
// Written at the hello of an attached process, read with each report; the collector's thread. Where /proc does not say what
// a thread waits in (another user, Yama), there is nothing.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "collector/base/event.h"
#include "collector/budget/report.h"
#include "collector/main/parked_call.h"
#include "collector/main/proc_files.h"

namespace stallscope {

class WaitsInFlight {
 public:
  WaitsInFlight(const ProcFiles* proc, uint32_t pid) : proc_(proc), pid_(pid) {}

  // Remembers who waits in what now.
  void Look(HostNs now);

  // Appends those that have waited in the same call ever since; a thread that is in the list already is known better.
  void AppendTo(std::vector<BlockedThread>* list, HostNs now) const;

 private:
  std::optional<ParkedCall> CallOf(uint32_t tid) const;

  const ProcFiles* const proc_;
  const uint32_t pid_;
  HostNs looked_at_ = 0;
  mutable std::map<uint32_t, ParkedCall> waits_;  // by tid; one that has gone on is forgotten
};

}  // namespace stallscope
