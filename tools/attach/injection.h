// Having a running process load the agent, or tell a loaded agent to let go.
//
// A thread that is parked in a restartable system call, and neither in the allocator nor in the loader, is borrowed for
// well under a millisecond: it makes a thread, on which the rest happens while the program runs on. A process that has
// one thread is to keep one: there the thread itself does the work, in some milliseconds. When no thread suits within
// the limit, the process is left as it was; when something fails midway, registers and memory are put back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/wire/attach.h"
#include "tools/attach/target_process.h"
#include "tools/attach/waits_in_flight.h"

namespace stallscope::attach {

struct InjectionOptions {
  std::string library;          // libstallscope.so, absolute
  std::string socket_path;      // of the collector
  uint32_t level_plus_one = 0;  // as in wire::AttachRequest
  bool stacks = false;
  absl::Duration limit = absl::Seconds(5);
};

struct Injection {
  wire::AttachRequest answer{};
  int borrowed_tid = 0;
  std::string borrowed_name, borrowed_call;
  bool own_thread = false;  // the work was done on a thread made for it
  absl::Duration stopped;   // how long the borrowed thread stood still, longest
  int threads_tried = 0;
  std::vector<WaitInFlight> waits;
};

absl::StatusOr<Injection> Attach(const TargetProcess& target, const InjectionOptions& options);
absl::StatusOr<Injection> Detach(const TargetProcess& target, absl::Duration limit);

}  // namespace stallscope::attach
