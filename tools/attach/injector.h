// Finds a thread of the target that may be borrowed, and has it do the work (work_in_target.h). One use, one thread.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attach/injection.h"
#include "tools/attach/target_functions.h"
#include "tools/attach/thread_choice.h"
#include "tools/attach/thread_stack.h"
#include "tools/attach/tracee.h"
#include "tools/attach/undertaking.h"
#include "tools/attach/way_back.h"

namespace stallscope::attach {

class Injector {
 public:
  // `verb` as in Undertaking. Keeps a reference to `target`.
  Injector(const TargetProcess& target, absl::Duration limit, const char* verb);

  const Undertaking& undertaking() const { return undertaking_; }

  // Reads what is needed of the target, without stopping anything of it.
  absl::Status Prepare();
  // Finds a thread, has it do the work, fills in the result. Unavailable: no thread suited within the limit.
  absl::Status Inject(const InjectedData& data, Injection* result);

 private:
  void FindWayBack();
  // Stops it where it may be used; Unavailable when it stands elsewhere by now.
  absl::StatusOr<user_regs_struct> StopInCall(Tracee* thread, const Candidate& candidate) const;
  absl::Status TryThread(const Candidate& candidate, const InjectedData& data, ThreadChoice* choice, Injection* result,
                         bool* touched);
  std::string CallText(const ParkedCall& call) const;

  const TargetProcess& target_;
  const absl::Duration limit_;
  const Undertaking undertaking_;
  const bool own_thread_;
  ForbiddenCode forbidden_;
  TargetFunctions functions_;
  WayBackPlace way_back_;
};

}  // namespace stallscope::attach
