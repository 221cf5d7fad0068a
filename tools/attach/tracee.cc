#include "tools/attach/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tools/attach/interruption.h"
#include "tools/attach/target_memory.h"

namespace stallscope::attach {
namespace {

constexpr absl::Duration kStepLimit = absl::Seconds(2);
constexpr size_t kExtendedBytes = 64 << 10;
constexpr int kSystemCallStop = SIGTRAP | 0x80;

constexpr uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }
// 33: glibc's setuid in all threads waits for each. Its cancellation (32) waits for the thread to be back in its call.
constexpr uint64_t kNeverBlocked =
    Bit(SIGSEGV) | Bit(SIGBUS) | Bit(SIGILL) | Bit(SIGFPE) | Bit(SIGTRAP) | Bit(SIGSYS) | Bit(33);

absl::Status Failed(const char* what) { return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno))); }

long Ask(int request, int tid, void* address, void* data) {
  return ptrace(static_cast<__ptrace_request>(request), tid, address, data);
}

void Nap() {
  const timespec pause = {0, 10'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

Tracee::~Tracee() {
  if (!seized_ || gone_) return;
  if (!stopped_ && !Stop(kStepLimit).ok()) return;  // when we end, the kernel lets go of it
  if (saved_) PutBack().IgnoreError();
  CallAgain();
  Ask(PTRACE_DETACH, tid_, nullptr, nullptr);
}

absl::Status Tracee::Seize() {
  if (Ask(PTRACE_SEIZE, tid_, nullptr, reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD)) != 0) {
    if (errno == ESRCH) gone_ = true;
    return errno == EPERM   ? absl::PermissionDeniedError("the kernel does not allow it")
           : errno == ESRCH ? absl::NotFoundError("the thread has ended")
                            : Failed("PTRACE_SEIZE");
  }
  seized_ = true;
  return absl::OkStatus();
}

int Tracee::Wait(absl::Duration limit) {
  const absl::Time deadline = absl::Now() + limit;
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  while (true) {
    int status = 0;
    const pid_t got = waitpid(tid_, &status, __WALL | WNOHANG);
    if (got == tid_) {
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        gone_ = true;
        return -1;
      }
      stopped_ = true;
      at_event_ = status >> 16 == PTRACE_EVENT_STOP;
      return status;
    }
    if (got < 0 && errno != EINTR) {
      gone_ = true;
      return -1;
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return 0;
    // A stop sends SIGCHLD, which is blocked; sleeping, not yielding, since who sleeps is run first when it wakes up.
    const timespec pause = absl::ToTimespec(std::min(left, absl::Milliseconds(100)));
    sigtimedwait(&child, nullptr, &pause);
  }
}

absl::Status Tracee::Resume(int request, int signal) {
  if (Ask(request, tid_, nullptr, reinterpret_cast<void*>(static_cast<intptr_t>(signal))) != 0) {
    if (errno == ESRCH) gone_ = true;
    return Failed("the thread cannot be resumed");
  }
  stopped_ = at_event_ = false;
  return absl::OkStatus();
}

absl::Status Tracee::Stop(absl::Duration limit) {
  if (stopped_) return absl::OkStatus();
  if (Ask(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) {
    gone_ = errno == ESRCH;
    return Failed("PTRACE_INTERRUPT");
  }
  const absl::Time deadline = absl::Now() + limit;
  while (true) {
    const int status = Wait(deadline - absl::Now());
    if (status < 0) return absl::NotFoundError("the thread has ended");
    if (status == 0) return absl::UnavailableError("the thread does not stop");
    if (status >> 16 == PTRACE_EVENT_STOP) return absl::OkStatus();
    // A signal that was on its way: the program gets it; our stop is still to come.
    if (absl::Status resumed = Resume(PTRACE_CONT, WSTOPSIG(status) == kSystemCallStop ? 0 : WSTOPSIG(status));
        !resumed.ok()) {
      return resumed;
    }
  }
}

absl::Status Tracee::Continue() {
  CallAgain();
  calls_again_ = false;
  return Resume(PTRACE_CONT);
}

void Tracee::HoldCall() {
  const absl::StatusOr<user_regs_struct> registers = Registers();
  if (!registers.ok() || calls_again_ || static_cast<int64_t>(registers->orig_rax) < 0 ||
      HowInterrupted(static_cast<int64_t>(registers->rax)) != Interrupted::kPutBack) {
    return;
  }
  interrupted_ = *registers;
  calls_again_ = SetRegisters(CalledAgain(*registers)).ok();
}

// The last thing before it goes on: EINTR is the truth where a signal has come.
void Tracee::CallAgain() {
  HoldCall();
  if (calls_again_ && HasPendingSignal()) SetRegisters(interrupted_).IgnoreError();
}

absl::StatusOr<user_regs_struct> Tracee::Registers() const {
  user_regs_struct registers{};
  if (Ask(PTRACE_GETREGS, tid_, nullptr, &registers) != 0) return Failed("the registers cannot be read");
  return registers;
}

absl::Status Tracee::SetRegisters(const user_regs_struct& registers) const {
  user_regs_struct copy = registers;
  if (Ask(PTRACE_SETREGS, tid_, nullptr, &copy) != 0) return Failed("the registers cannot be set");
  return absl::OkStatus();
}

absl::Status Tracee::Save(uint64_t way_back_at) {
  absl::StatusOr<user_regs_struct> registers = Registers();
  if (!registers.ok()) return registers.status();
  registers_ = *registers;
  extended_.resize(kExtendedBytes);
  iovec area{extended_.data(), extended_.size()};
  if (Ask(PTRACE_GETREGSET, tid_, reinterpret_cast<void*>(NT_X86_XSTATE), &area) != 0) {
    return Failed("the extended registers cannot be read");
  }
  extended_.resize(area.iov_len);
  if (Ask(PTRACE_GETSIGMASK, tid_, reinterpret_cast<void*>(sizeof(signal_mask_)), &signal_mask_) != 0) {
    return Failed("the signal mask cannot be read");
  }
  if (way_back_at != 0) {
    const std::string code = GetWayBack(saved_context());
    padding_.assign(code.size(), '\0');
    if (absl::Status written = WriteCode(way_back_at, code); !written.ok()) return written;
    way_back_at_ = way_back_at;
  }
  saved_ = true;
  return absl::OkStatus();
}

SavedContext Tracee::saved_context() const {
  const user_regs_struct back = CalledAgain(registers_);
  return {signal_mask_, back.r15, back.r14, back.r13, back.r12, back.rbp, back.rbx, back.r11, back.r10,
          back.r9,      back.r8,  back.rax, back.rcx, back.rdx, back.rsi, back.rdi, back.rsp, back.rip};
}

// Into a page that the thread itself cannot write to.
absl::Status Tracee::WriteCode(uint64_t address, const std::string& bytes) const {
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::copy_n(bytes.data() + at, std::min(sizeof(word), bytes.size() - at), reinterpret_cast<char*>(&word));
    if (Ask(PTRACE_POKEDATA, tid_, reinterpret_cast<void*>(address + at), reinterpret_cast<void*>(word)) != 0) {
      return Failed("its code cannot be written");
    }
  }
  return absl::OkStatus();
}

void Tracee::PutPaddingBack() {
  if (way_back_at_ != 0) WriteCode(way_back_at_, padding_).IgnoreError();
  way_back_at_ = 0;
}

absl::Status Tracee::BlockSignals() {
  if (blocked_) return absl::OkStatus();
  uint64_t blocked = signal_mask_ | ~kNeverBlocked;
  if (Ask(PTRACE_SETSIGMASK, tid_, reinterpret_cast<void*>(sizeof(blocked)), &blocked) != 0) {
    return Failed("the signal mask cannot be set");
  }
  blocked_ = true;
  return absl::OkStatus();
}

// A signal of which the program has to know at once: then EINTR is the truth.
bool Tracee::HasPendingSignal() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/task/", tid_, "/status"));
  std::string word, digits;
  uint64_t pending = 0, blocked = 0, ignored = 0;
  while (file >> word) {
    uint64_t* into = word == "SigPnd:" || word == "ShdPnd:" ? &pending
                     : word == "SigBlk:"                    ? &blocked
                     : word == "SigIgn:"                    ? &ignored
                                                            : nullptr;
    if (into == nullptr || !(file >> digits)) continue;
    uint64_t value = 0;
    if (absl::SimpleHexAtoi(digits, &value)) *into |= value;
  }
  return (pending & ~blocked & ~ignored) != 0;
}

absl::Status Tracee::PutBack() {
  if (!saved_) {
    PutPaddingBack();  // it goes back by the copy that it ran with
    return absl::OkStatus();
  }
  // The kernel looks whether a call is to be restarted only on the way out of such a stop: from behind a system call the
  // thread is led there before it has made a step of its own.
  if (!at_event_) {
    stopped_ = false;
    if (Ask(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) return Failed("PTRACE_INTERRUPT");
    if (absl::Status resumed = Resume(PTRACE_CONT); !resumed.ok()) return resumed;
    for (int status = 0; !at_event_;) {
      status = Wait(kStepLimit);
      if (status <= 0) return absl::UnavailableError("the thread does not stop");
      if (at_event_) break;
      if (absl::Status resumed = Resume(PTRACE_CONT, WSTOPSIG(status) == kSystemCallStop ? 0 : WSTOPSIG(status));
          !resumed.ok()) {
        return resumed;
      }
    }
  }
  saved_ = blocked_ = false;
  iovec area{extended_.data(), extended_.size()};
  const bool extended = Ask(PTRACE_SETREGSET, tid_, reinterpret_cast<void*>(NT_X86_XSTATE), &area) == 0;
  const bool mask = Ask(PTRACE_SETSIGMASK, tid_, reinterpret_cast<void*>(sizeof(signal_mask_)), &signal_mask_) == 0;
  if (absl::Status set = SetRegisters(registers_); !set.ok()) return set;
  PutPaddingBack();
  return extended && mask ? absl::OkStatus() : Failed("the thread's state cannot be put back");
}

absl::StatusOr<int64_t> Tracee::SystemCall(int64_t number, const std::vector<uint64_t>& arguments) {
  user_regs_struct registers = registers_;
  // Without a way back through the instruction that it stands behind, or before.
  registers.rip = way_back_at_ != 0 ? way_back_at_ : CalledAgain(registers_).rip;
  registers.rax = static_cast<uint64_t>(number);
  registers.orig_rax = ~uint64_t{0};  // nothing to restart
  unsigned long long* const places[] = {&registers.rdi, &registers.rsi, &registers.rdx,
                                        &registers.r10, &registers.r8,  &registers.r9};
  for (size_t i = 0; i < arguments.size() && i < 6; ++i) *places[i] = arguments[i];
  // Registers first: what blocks the signals must also unblock them.
  if (absl::Status set = SetRegisters(registers); !set.ok()) return set;
  if (absl::Status blocked = BlockSignals(); !blocked.ok()) return blocked;
  for (int stops = 0; stops < 2;) {  // before and after
    if (absl::Status resumed = Resume(PTRACE_SYSCALL); !resumed.ok()) return resumed;
    const int status = Wait(kStepLimit);
    if (status <= 0) return absl::UnavailableError("a system call in the thread did not come to an end");
    if (WSTOPSIG(status) == kSystemCallStop) {
      ++stops;
    } else if (status >> 16 != PTRACE_EVENT_STOP) {
      return absl::UnavailableError(absl::StrCat("signal ", WSTOPSIG(status), " in a system call"));
    }
  }
  absl::StatusOr<user_regs_struct> after = Registers();
  if (!after.ok()) return after.status();
  return static_cast<int64_t>(after->rax);
}

bool Tracee::LeavesByItself(uint64_t data) {
  uint32_t left = 0;
  ReadMemory(pid_, data + offsetof(InjectedData, left), &left, sizeof(left));
  if (left == 0) return false;
  saved_ = false, went_back_ = true;
  const absl::Time deadline = absl::Now() + kStepLimit;
  while (absl::Now() < deadline) {
    const absl::StatusOr<user_regs_struct> registers = Registers();
    // The code's page lies before the data's.
    if (!registers.ok() || registers->rip < data - kPageBytes || registers->rip >= data) break;
    if (!Continue().ok()) break;
    Nap();
    if (!Stop(kStepLimit).ok()) break;
  }
  return true;
}

absl::Status Tracee::Run(uint64_t code, uint64_t data, uint64_t stack_top, absl::Duration limit) {
  user_regs_struct registers = registers_;
  registers.rip = code;
  registers.rbx = data;
  registers.rsp = stack_top & ~uint64_t{15};
  registers.rbp = 0;
  registers.orig_rax = ~uint64_t{0};
  registers.eflags &= ~uint64_t{0x400};  // the direction flag, which the ABI wants clear
  if (absl::Status set = SetRegisters(registers); !set.ok()) return set;
  if (absl::Status resumed = Resume(PTRACE_CONT); !resumed.ok()) return resumed;
  const absl::Time deadline = absl::Now() + limit;
  while (true) {
    uint32_t done = 0;
    if (ReadMemory(pid_, data + offsetof(InjectedData, parked), &done, sizeof(done)) == sizeof(done) && done != 0) {
      if (absl::Status stopped = Stop(kStepLimit); !stopped.ok()) return stopped;
      if (LeavesByItself(data)) return absl::OkStatus();
      // Now, since only this code's own way back knows of it.
      iovec area{extended_.data(), extended_.size()};
      const bool extended = Ask(PTRACE_SETREGSET, tid_, reinterpret_cast<void*>(NT_X86_XSTATE), &area) == 0;
      return extended ? absl::OkStatus() : Failed("the extended registers cannot be put back");
    }
    const int status = Wait(absl::ZeroDuration());
    if (status < 0) return absl::NotFoundError("the thread has ended");
    if (status > 0 && status >> 16 != PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGSTOP) {
      return absl::InternalError(absl::StrCat("signal ", WSTOPSIG(status), " in injected code"));
    }
    if (status > 0) {
      if (absl::Status resumed = Resume(PTRACE_CONT); !resumed.ok()) return resumed;
    }
    if (absl::Now() >= deadline) {
      if (absl::Status stopped = Stop(kStepLimit); !stopped.ok()) return stopped;
      // It is in the middle of something: it comes to the end of that, and back, without us.
      saved_ = false, went_back_ = true;
      return absl::DeadlineExceededError("the call in the thread did not come to an end");
    }
    Nap();
  }
}

}  // namespace stallscope::attach
