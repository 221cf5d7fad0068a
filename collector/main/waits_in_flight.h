// Threads that waited already when the agent came to a running process: it sees them at their next call only, so until then
// the kernel is asked.
//
// Written from the hello of an attached process on, read with each report; the collector's thread. Where /proc does not say what
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

  // Remembers who waits in what at the hello.
  void Begin(HostNs now);

  // Regularly. For some time after the hello: the thread that attach has borrowed goes back into its call after it.
  void LookAgain(HostNs now);

  // Appends those that have waited in the same call ever since; a thread that is in the list already is known better.
  void AppendTo(std::vector<BlockedThread>* list, HostNs now) const;

 private:
  struct Wait {
    ParkedCall call;
    HostNs seen_since;
  };

  std::optional<ParkedCall> CallOf(uint32_t tid) const;
  void Look(HostNs now);

  const ProcFiles* const proc_;
  const uint32_t pid_;
  HostNs begun_at_ = 0;                     // 0: not begun
  mutable std::map<uint32_t, Wait> waits_;  // by tid; one that has gone on is forgotten
};

}  // namespace stallscope
