// The few instructions that run inside the target, and the data page they work on.
//
// Written into memory that was mapped in the target for this: one page of code, one of data (InjectedData), the rest
// stack. Written by: the injector, before the code runs. Answers: by the code, read by the injector. A process that is not dumpable is left
// alone. The three entries:
//   call    on a borrowed thread: does the work, sets `parked`, and spins until it is stopped and put back
//   create  on a borrowed thread: makes a thread for the work, sets `parked`, spins likewise
//   helper  that thread: does the work, sets `finished`, waits for `acknowledged`, unmaps all of this; unacknowledged
//           after 20 s it leaves it, since the borrowed thread may still be in it
// The work: dlopen(path), dlsym(entry_name), and that function with `request`; when `entry` is given, just the function.
//
// A borrowed thread that nobody puts back within `spins` turns goes back by itself: sets `left`, and takes the way back.
// That is the last part of the code, which holds a SavedContext and can be copied elsewhere: one system call, then signal
// mask and registers as saved, and on into the system call that the thread was borrowed from. It writes nothing.
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
  int32_t dumpable;     // prctl(PR_GET_DUMPABLE); unless it is 1, nothing else was done
  uint32_t left;        // the borrowed thread is going back by itself
  uint64_t error_text;  // dlerror's, in the target
  uint64_t thread;      // pthread_t
  // --- by the injector
  uint64_t extended;  // the borrowed thread's extended state, as XSAVE lays it out, 64-byte aligned
  uint32_t spins, unused;
  wire::AttachRequest request;
  char entry_name[64];
  char path[2048];
};
static_assert(sizeof(InjectedData) <= kPageBytes);

// What the way back puts into place.
struct SavedContext {
  uint64_t signal_mask, r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, rsp, rip;
};

struct InjectedCode {
  std::string bytes;
  uint64_t call, create, helper, way_back;  // offsets in it
};
InjectedCode GetInjectedCode(const SavedContext& saved);
// The way back alone; it begins with the system call.
std::string GetWayBack(const SavedContext& saved);

}  // namespace stallscope::attach
