// One thread of the target under ptrace: stopped, looked at, made to call something, put back.
//
// PTRACE_SEIZE, so that neither attaching nor leaving sends a signal. The thread is never made to trap: a forced SIGTRAP
// would reset the program's own disposition of it. Remote calls end in a spin that PTRACE_INTERRUPT stops. Used from one
// thread, which has SIGCHLD blocked. The destructor puts back what was saved and lets go, whatever happened.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace stallscope::attach {

class Tracee {
 public:
  Tracee(int pid, int tid) : pid_(pid), tid_(tid) {}
  ~Tracee();
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;

  absl::Status Seize();
  // Stops it. Unavailable: it did not stop in time; NotFound: it has ended.
  absl::Status Stop(absl::Duration limit);
  // Lets it go on as it is; a call that would fail with EINTR by our stop is made again.
  absl::Status Continue();

  absl::StatusOr<user_regs_struct> Registers() const;
  absl::Status SetRegisters(const user_regs_struct& registers) const;

  // --- stopped in a system call
  // Remembers registers, extended state and signal mask, and blocks signals (but those that code raises itself, and the
  // one that glibc needs in every thread).
  absl::Status Save();
  // As saved. Clears what was saved.
  absl::Status PutBack();
  // Has the thread make a system call, through the instruction that it stands behind.
  absl::StatusOr<int64_t> SystemCall(int64_t number, const std::vector<uint64_t>& arguments);
  // Lets it run from `code` with rbx = `data`, until the word at `done_at` is not 0; stopped again then.
  absl::Status Run(uint64_t code, uint64_t data, uint64_t stack_top, uint64_t done_at, absl::Duration limit);

  int tid() const { return tid_; }
  bool gone() const { return gone_; }

 private:
  // Waits for the next stop. The status of waitpid; < 0: it has ended, 0: not in time.
  int Wait(absl::Duration limit);
  absl::Status Resume(int request, int signal = 0);
  bool HasPendingSignal() const;
  void CallAgain();

  const int pid_, tid_;
  bool at_event_ = false;  // stopped by PTRACE_INTERRUPT, not behind a system call or before a signal
  bool seized_ = false, stopped_ = false, gone_ = false, saved_ = false;
  user_regs_struct registers_{};
  std::vector<uint8_t> extended_;
  uint64_t signal_mask_ = 0;
};

}  // namespace stallscope::attach
