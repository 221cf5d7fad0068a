// The few instructions that run inside the target, and the data page they work on.
//
// Written into memory that was mapped in the target for this: one page of code, one of data (InjectedData), the rest
// stack. Written by: the injector, before the code runs. Answers: by the code, read by the injector. A process that is not dumpable is left
// alone. The three entries:
//   call    on a borrowed thread: does the work, sets `parked`, and spins until it is stopped and put back
//   create  on a borrowed thread: makes a thread for the work, sets `parked`, spins likewise
//   helper  that thread: does the work, sets `finished`, waits for `acknowledged` (20 s at most), unmaps all of this
// The work: dlopen(path), dlsym(entry_name), and that function with `request`; when `entry` is given, just the function.
#pragma once

#include <cstdint>
#include <string>

#include "proto/wire/attach.h"

namespace stallscope::attach {

inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kRegionBytes = 256 * 1024;  // the loader needs some tens of KB of stack

struct InjectedData {
  // Functions in the target.
  uint64_t dlopen, dlsym, dlerror;
  uint64_t pthread_create, pthread_self, pthread_detach;  // 0 where the target has one thread
  uint64_t munmap, errno_location;
  uint64_t region, region_bytes;
  uint64_t helper;  // address of the entry of that name
  uint64_t entry;   // of the agent, when it is loaded already; else 0
  uint64_t open_flags;
  int64_t pause_seconds, pause_ns;  // a timespec
  // --- answers
  uint32_t parked, finished, failed, acknowledged, cancelled;
  int32_t create_result;
  int32_t dumpable;  // prctl(PR_GET_DUMPABLE); unless it is 1, nothing else was done
  uint32_t unused;
  uint64_t error_text;  // dlerror's, in the target
  uint64_t thread;      // pthread_t
  wire::AttachRequest request;
  char entry_name[64];
  char path[2048];
};
static_assert(sizeof(InjectedData) <= kPageBytes);

struct InjectedCode {
  std::string bytes;
  uint64_t call, create, helper;  // offsets in it
};
InjectedCode GetInjectedCode();

}  // namespace stallscope::attach
