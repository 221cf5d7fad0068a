// One thread of the target under ptrace: stopped, looked at, made to call something, put back.
//
// PTRACE_SEIZE, so that neither attaching nor leaving sends a signal. The thread is never made to trap: a forced SIGTRAP
// would reset the program's own disposition of it. Remote calls end in a spin that PTRACE_INTERRUPT stops. Used from one
// thread, which has SIGCHLD blocked. The destructor puts back what was saved and lets go, whatever happened.
//
// This program may be killed between any two lines; the kernel then lets the thread run on from where it stands. From
// Save on it therefore stands only where the way back (way_back.h) is what it comes to by itself.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attach/injected_code.h"

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
  // A call that would fail with EINTR by our stop is made again from here on, even if we end now.
  void HoldCall();
  // Remembers registers, extended state and signal mask, and writes the way back to this address (0: there is none).
  absl::Status Save(uint64_t way_back_at);
  // As saved. Clears what was saved.
  absl::Status PutBack();
  // Has the thread make a system call. While it is away signals are blocked, but those that code raises itself, and the
  // one that glibc needs in every thread.
  absl::StatusOr<int64_t> SystemCall(int64_t number, const std::vector<uint64_t>& arguments);
  // Lets it run from `code` with rbx = `data`, until `parked` of the data is not 0; stopped again then, its extended
  // state as saved.
  absl::Status Run(uint64_t code, uint64_t data, uint64_t stack_top, absl::Duration limit);

  // What the way back needs.
  SavedContext saved_context() const;
  const std::vector<uint8_t>& saved_extended() const { return extended_; }
  // It was not put back in time and goes back by itself, or will: it is not ours any more.
  bool went_back() const { return went_back_; }

  int tid() const { return tid_; }
  bool gone() const { return gone_; }

 private:
  // Waits for the next stop. The status of waitpid; < 0: it has ended, 0: not in time.
  int Wait(absl::Duration limit);
  absl::Status Resume(int request, int signal = 0);
  bool HasPendingSignal() const;
  void CallAgain();
  absl::Status BlockSignals();
  absl::Status WriteCode(uint64_t address, const std::string& bytes) const;
  void PutPaddingBack();
  // After a stop in injected code: is it there because it is on its way back? Then it is let go once it is out of it.
  bool LeavesByItself(uint64_t data);

  const int pid_, tid_;
  bool at_event_ = false;  // stopped by PTRACE_INTERRUPT, not behind a system call or before a signal
  bool seized_ = false, stopped_ = false, gone_ = false, saved_ = false, went_back_ = false;
  bool blocked_ = false;      // its signals, by us
  bool calls_again_ = false;  // it stands before its call by our hand; interrupted_ is how it stood
  uint64_t way_back_at_ = 0;
  std::string padding_;  // what was at way_back_at_
  user_regs_struct registers_{}, interrupted_{};
  std::vector<uint8_t> extended_;
  uint64_t signal_mask_ = 0;
};

}  // namespace stallscope::attach
