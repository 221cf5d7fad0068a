#include "tools/attach/injector.h"

#include <sys/syscall.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tools/attach/interruption.h"
#include "tools/attach/undisturbed.h"
#include "tools/attach/work_in_target.h"

namespace stallscope::attach {
namespace {

constexpr absl::Duration kStopLimit = absl::Milliseconds(500);
constexpr absl::Duration kLookAgain = absl::Milliseconds(2);
constexpr absl::Duration kOthersWayBack = absl::Milliseconds(500);

}  // namespace

Injector::Injector(const TargetProcess& target, absl::Duration limit, const char* verb)
    : target_(target), limit_(limit), undertaking_{target.pid, target.name, verb}, own_thread_(target.threads > 1) {}

absl::Status Injector::Prepare() {
  absl::StatusOr<ForbiddenCode> forbidden = ForbiddenCode::Of(target_.pid, target_.modules, target_.mappings);
  if (!forbidden.ok()) return undertaking_.Refuse(std::string(forbidden.status().message()));
  forbidden_ = *std::move(forbidden);
  FindWayBack();
  functions_ = FindTargetFunctions(target_.pid, forbidden_.libc_symbols(), target_.modules);
  if (functions_.Suffice(own_thread_)) return absl::OkStatus();
  return undertaking_.Refuse("its C library lacks what is needed to load a library. Start it under stallscope run.");
}

absl::Status Injector::Inject(const InjectedData& data, Injection* result) {
  ThreadChoice choice(target_.pid, forbidden_.libc());
  const absl::Time deadline = absl::Now() + limit_;
  const Waiting waiting;
  do {
    for (const Candidate& candidate : choice.Rank(FindParked(target_.pid))) {
      bool touched = false;
      const absl::Status tried = TryThread(candidate, data, &choice, result, &touched);
      if (tried.ok() || touched) return tried;
      if (absl::IsPermissionDenied(tried)) return tried;
      if (absl::Now() >= deadline) break;
    }
    absl::SleepFor(kLookAgain);
  } while (absl::Now() < deadline);
  return absl::UnavailableError(undertaking_.Cannot(
      absl::StrCat("none of its ", ThreadsOf(target_.pid).size(), " threads stood still at a safe place within ",
                   absl::FormatDuration(limit_),
                   choice.last_why().empty() ? "" : absl::StrCat(" (the last one was ", choice.last_why(), ")"),
                   "; it was left as it was. Try again with a longer --wait, or start it under stallscope run.")));
}

// In code that is never unloaded.
void Injector::FindWayBack() {
  std::vector<const MappedModule*> modules = {&forbidden_.libc()};
  for (const MappedModule& module : target_.modules) {
    if (absl::StartsWith(module.file_name(), "ld-linux") || module.path == target_.executable) {
      modules.push_back(&module);
    }
  }
  way_back_ = FindWayBackPlace(target_.pid, modules);
  if (way_back_.used) absl::SleepFor(kOthersWayBack);
}

absl::StatusOr<user_regs_struct> Injector::StopInCall(Tracee* thread, const Candidate& candidate) const {
  if (absl::Status stopped = thread->Stop(kStopLimit); !stopped.ok()) return stopped;
  absl::StatusOr<user_regs_struct> registers = thread->Registers();
  if (!registers.ok()) return registers;
  uint8_t instruction[2] = {};
  const bool behind_call = ReadMemory(target_.pid, registers->rip - 2, instruction, 2) == 2 && instruction[0] == 0x0f &&
                           instruction[1] == 0x05;
  const bool parked = static_cast<int64_t>(registers->orig_rax) >= 0 &&
                      HowInterrupted(static_cast<int64_t>(registers->rax)) != Interrupted::kCompleted;
  if (!behind_call || !parked || registers->rip != candidate.call.program_counter ||
      registers->rsp != candidate.call.stack_pointer) {
    return absl::UnavailableError("it has gone on meanwhile");
  }
  thread->HoldCall();
  return registers;
}

absl::Status Injector::TryThread(const Candidate& candidate, const InjectedData& data, ThreadChoice* choice,
                                 Injection* result, bool* touched) {
  ++result->threads_tried;
  Tracee thread(target_.pid, candidate.tid);
  if (absl::Status seized = thread.Seize(); !seized.ok()) {
    if (!absl::IsPermissionDenied(seized)) return seized;
    return absl::PermissionDeniedError(undertaking_.Cannot(
        "the kernel does not allow it (another tracer, a process that does not let itself be looked at, or a sandbox). "
        "Run stallscope attach as root, or start the program under stallscope run."));
  }
  const absl::StatusOr<user_regs_struct> registers = StopInCall(&thread, candidate);
  if (!registers.ok()) return registers.status();
  const StackCopy copy = CopyStack(target_.pid, *registers, forbidden_.StackEnd(registers->rsp));
  if (absl::Status on = thread.Continue(); !on.ok()) return on;
  const StackVerdict verdict = JudgeStack(target_.pid, copy, forbidden_);
  if (!verdict.why_not.empty()) {
    choice->RuleOut(candidate, verdict.why_not);
    return absl::UnavailableError(verdict.why_not);
  }
  const Undisturbed undisturbed;
  const absl::Time stop_begins = absl::Now();
  const absl::StatusOr<user_regs_struct> now = StopInCall(&thread, candidate);
  if (!now.ok()) return now.status();
  if (!StillTheSame(target_.pid, copy, verdict, *now)) return absl::UnavailableError("it has gone on meanwhile");
  *touched = true;
  result->borrowed_tid = candidate.tid;
  result->borrowed_name = ThreadNameOf(target_.pid, candidate.tid);
  result->borrowed_call = CallText(candidate.call);
  result->own_thread = own_thread_;
  WorkInTarget work(undertaking_, functions_, way_back_.address, own_thread_, data);
  const absl::Status begun = work.Begin(&thread);
  const absl::Status back = thread.PutBack();
  const absl::Status on = thread.Continue();
  result->stopped = absl::Now() - stop_begins;
  if (!back.ok()) return back;
  if (!on.ok() && !thread.gone()) return on;
  if (!begun.ok()) return absl::UnavailableError(undertaking_.Cannot(std::string(begun.message())));
  return work.Finish(&result->answer);
}

std::string Injector::CallText(const ParkedCall& call) const {
  if (call.number != SYS_restart_syscall) return SystemCallName(call.number);
  const Symbol* function = forbidden_.libc_symbols().At(call.program_counter);
  return function != nullptr ? function->name : "futex";
}

}  // namespace stallscope::attach
