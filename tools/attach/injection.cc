#include "tools/attach/injection.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tools/attach/injected_code.h"
#include "tools/attach/interruption.h"
#include "tools/attach/thread_stack.h"
#include "tools/attach/tracee.h"
#include "tools/attach/undisturbed.h"
#include "tools/attach/waits_in_flight.h"
#include "tools/attach/way_back.h"

namespace stallscope::attach {
namespace {

constexpr absl::Duration kStopLimit = absl::Milliseconds(500);
constexpr absl::Duration kCallLimit = absl::Seconds(10);
constexpr absl::Duration kHelperLimit = absl::Seconds(15);
constexpr absl::Duration kLookAgain = absl::Milliseconds(2);
constexpr absl::Duration kOthersWayBack = absl::Milliseconds(500);
constexpr uint32_t kSpins = 1 << 22;            // about 0.1 s, or 0.2
constexpr uint64_t kOpenNowLocal = 2;           // RTLD_NOW | RTLD_LOCAL
constexpr uint64_t kInternalOpen = 0x80000000;  // __libc_dlopen_mode's own flag

struct Candidate {
  int tid = 0, rank = 0;
  ParkedCall call;
};

std::string ThreadNameOf(int pid, int tid) {
  return std::string(
      absl::StripTrailingAsciiWhitespace(ReadProcFile(absl::StrCat("/proc/", pid, "/task/", tid, "/comm"))));
}

class Injector {
 public:
  Injector(const TargetProcess& target, absl::Duration limit, const char* verb)
      : target_(target), limit_(limit), verb_(verb) {}

  absl::Status Prepare() {
    absl::StatusOr<ForbiddenCode> forbidden = ForbiddenCode::Of(target_.pid, target_.modules, target_.mappings);
    if (!forbidden.ok()) return Refuse(std::string(forbidden.status().message()));
    forbidden_ = *std::move(forbidden);
    own_thread_ = target_.threads > 1;
    FindWayBack();
    return FindFunctions();
  }

  // Finds a thread, has it do the work, fills in the result.
  absl::Status Inject(InjectedData data, Injection* result) {
    data_ = std::move(data);
    data_.request.own_thread = own_thread_ ? 1 : 0;
    const absl::Time deadline = absl::Now() + limit_;
    const Waiting waiting;
    do {
      for (const Candidate& candidate : FindCandidates()) {
        bool touched = false;
        const absl::Status tried = TryThread(candidate, result, &touched);
        if (tried.ok() || touched) return tried;
        if (absl::IsPermissionDenied(tried)) return tried;
        if (absl::Now() >= deadline) break;
      }
      absl::SleepFor(kLookAgain);
    } while (absl::Now() < deadline);
    return absl::UnavailableError(
        absl::StrCat("cannot ", verb_, " ", Who(), ": none of its ", ThreadsOf(target_.pid).size(),
                     " threads stood still at a safe place within ", absl::FormatDuration(limit_),
                     last_why_.empty() ? "" : absl::StrCat(" (the last one was ", last_why_, ")"),
                     "; it was left as it was. Try again with a longer --wait, or start it under stallscope run."));
  }

  absl::Status Refuse(const std::string& why) const {
    return absl::FailedPreconditionError(absl::StrCat("cannot ", verb_, " ", Who(), ": ", why));
  }
  std::string Who() const { return absl::StrCat(target_.pid, " (", target_.name, ")"); }

 private:
  absl::Status FindFunctions() {
    // Before glibc 2.34 some of these lie in libraries of their own.
    std::vector<ExportedSymbols> libraries = {forbidden_.libc_symbols()};
    for (const MappedModule& module : target_.modules) {
      const bool wanted =
          absl::StartsWith(module.file_name(), "libdl.so.2") || absl::StartsWith(module.file_name(), "libpthread");
      if (!wanted) continue;
      if (auto symbols = ExportedSymbols::Read(target_.pid, module); symbols.ok()) libraries.push_back(*symbols);
    }
    const auto find = [&libraries](std::initializer_list<const char*> names) {
      for (const char* name : names) {
        for (const ExportedSymbols& library : libraries) {
          if (const uint64_t address = library.Address(name); address != 0) return address;
        }
      }
      return uint64_t{0};
    };
    functions_.dlopen = find({"dlopen", "__libc_dlopen_mode"});
    functions_.dlsym = find({"dlsym", "__libc_dlsym"});
    functions_.dlerror = find({"dlerror"});
    functions_.munmap = find({"munmap"});
    functions_.errno_location = find({"__errno_location"});
    functions_.pthread_create = find({"pthread_create"});
    functions_.pthread_self = find({"pthread_self"});
    functions_.pthread_detach = find({"pthread_detach"});
    functions_.open_flags = find({"dlopen"}) != 0 ? kOpenNowLocal : kOpenNowLocal | kInternalOpen;
    if (functions_.dlopen == 0 || functions_.dlsym == 0 || functions_.dlerror == 0 || functions_.munmap == 0 ||
        functions_.errno_location == 0 ||
        (own_thread_ &&
         (functions_.pthread_create == 0 || functions_.pthread_self == 0 || functions_.pthread_detach == 0))) {
      return Refuse("its C library lacks what is needed to load a library. Start it under stallscope run.");
    }
    return absl::OkStatus();
  }

  // In code that is never unloaded.
  void FindWayBack() {
    std::vector<const MappedModule*> modules = {&forbidden_.libc()};
    for (const MappedModule& module : target_.modules) {
      if (absl::StartsWith(module.file_name(), "ld-linux") || module.path == target_.executable) {
        modules.push_back(&module);
      }
    }
    way_back_ = FindWayBackPlace(target_.pid, modules);
    if (way_back_.used) absl::SleepFor(kOthersWayBack);
  }

  std::vector<Candidate> FindCandidates() {
    std::vector<Candidate> candidates;
    for (const auto& [tid, call] : FindParked(target_.pid)) {
      const std::optional<int> rank = InterruptionRank(call);
      if (!rank.has_value()) {
        last_why_ = absl::StrCat("in ", SystemCallName(call.number));
        continue;
      }
      if (!forbidden_.libc().IsCode(call.program_counter)) continue;
      const auto judged = unfit_.find(tid);
      if (judged != unfit_.end() && judged->second == call) continue;
      candidates.push_back({tid, *rank, call});
    }
    // The first thread last: it is the one that most often has something to do.
    std::stable_sort(candidates.begin(), candidates.end(), [this](const Candidate& a, const Candidate& b) {
      return std::make_pair(a.rank, a.tid == target_.pid) < std::make_pair(b.rank, b.tid == target_.pid);
    });
    return candidates;
  }

  // Stops it where it may be used; Unavailable when it stands elsewhere by now.
  absl::StatusOr<user_regs_struct> StopInCall(Tracee* thread, const Candidate& candidate) const {
    if (absl::Status stopped = thread->Stop(kStopLimit); !stopped.ok()) return stopped;
    absl::StatusOr<user_regs_struct> registers = thread->Registers();
    if (!registers.ok()) return registers;
    uint8_t instruction[2] = {};
    const bool behind_call = ReadMemory(target_.pid, registers->rip - 2, instruction, 2) == 2 &&
                             instruction[0] == 0x0f && instruction[1] == 0x05;
    const bool parked = static_cast<int64_t>(registers->orig_rax) >= 0 &&
                        HowInterrupted(static_cast<int64_t>(registers->rax)) != Interrupted::kCompleted;
    if (!behind_call || !parked || registers->rip != candidate.call.program_counter ||
        registers->rsp != candidate.call.stack_pointer) {
      return absl::UnavailableError("it has gone on meanwhile");
    }
    thread->HoldCall();
    return registers;
  }

  absl::Status TryThread(const Candidate& candidate, Injection* result, bool* touched) {
    ++result->threads_tried;
    Tracee thread(target_.pid, candidate.tid);
    if (absl::Status seized = thread.Seize(); !seized.ok()) {
      if (!absl::IsPermissionDenied(seized)) return seized;
      return absl::PermissionDeniedError(absl::StrCat(
          "cannot ", verb_, " ", Who(),
          ": the kernel does not allow it (another tracer, a process that does not let itself be "
          "looked at, or a sandbox). Run stallscope attach as root, or start the program under stallscope run."));
    }
    const absl::StatusOr<user_regs_struct> registers = StopInCall(&thread, candidate);
    if (!registers.ok()) return registers.status();
    const StackCopy copy = CopyStack(target_.pid, *registers, forbidden_.StackEnd(registers->rsp));
    if (absl::Status on = thread.Continue(); !on.ok()) return on;
    const StackVerdict verdict = JudgeStack(target_.pid, copy, forbidden_);
    if (!verdict.why_not.empty()) {
      last_why_ = verdict.why_not;
      unfit_[candidate.tid] = candidate.call;
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
    absl::Status done = Borrow(&thread);
    const absl::Status back = thread.PutBack();
    const absl::Status on = thread.Continue();
    result->stopped = absl::Now() - stop_begins;
    if (!back.ok()) return back;
    if (!on.ok() && !thread.gone()) return on;
    if (!done.ok())
      return absl::UnavailableError(absl::StrCat("cannot ", verb_, " ", Who(), ": ", std::string(done.message())));
    return own_thread_ ? WaitForHelper(result) : ReadAnswer(result);
  }

  std::string CallText(const ParkedCall& call) const {
    if (call.number != SYS_restart_syscall) return SystemCallName(call.number);
    const Symbol* function = forbidden_.libc_symbols().At(call.program_counter);
    return function != nullptr ? function->name : "futex";
  }

  // On the stopped thread. What it leaves behind when it fails is the memory at most, and only where that may be in use.
  absl::Status Borrow(Tracee* thread) {
    if (absl::Status saved = thread->Save(way_back_.address); !saved.ok()) return saved;
    absl::StatusOr<int64_t> region = thread->SystemCall(
        SYS_mmap, {0, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~uint64_t{0}, 0});
    if (!region.ok()) return region.status();
    if (*region < 0 && *region > -4096) {
      return absl::ResourceExhaustedError(
          "there is no room in it for 256 KB (ulimit -v); it was left as it was. Start it under stallscope run.");
    }
    region_ = static_cast<uint64_t>(*region);
    bool may_unmap = true;
    absl::Status done = RunInRegion(thread, &may_unmap);
    const bool keep = thread->went_back() || (done.ok() ? own_thread_ : !may_unmap);
    if (!done.ok() || !own_thread_) {
      // The answer first.
      if (done.ok()) ReadMemory(target_.pid, DataAt(), &data_, sizeof(data_));
      if (data_.error_text != 0) error_text_ = ReadText(target_.pid, data_.error_text, 400);
    }
    if (!keep && thread->SystemCall(SYS_munmap, {region_, kRegionBytes}).ok()) region_ = 0;
    return done;
  }

  uint64_t DataAt() const { return region_ + kPageBytes; }

  absl::Status RunInRegion(Tracee* thread, bool* may_unmap) {
    const InjectedCode code = GetInjectedCode(thread->saved_context());
    const std::vector<uint8_t>& extended = thread->saved_extended();
    const uint64_t extended_at = DataAt() + kPageBytes;
    data_.dlopen = functions_.dlopen, data_.dlsym = functions_.dlsym, data_.dlerror = functions_.dlerror;
    data_.errno_location = functions_.errno_location;
    data_.munmap = functions_.munmap, data_.pthread_create = functions_.pthread_create;
    data_.pthread_self = functions_.pthread_self, data_.pthread_detach = functions_.pthread_detach;
    data_.open_flags = functions_.open_flags;
    data_.region = region_, data_.region_bytes = kRegionBytes, data_.helper = region_ + code.helper;
    data_.pause_ns = 1'000'000;
    data_.extended = extended_at, data_.spins = kSpins;
    if (!WriteMemory(target_.pid, region_, code.bytes.data(), code.bytes.size()) ||
        !WriteMemory(target_.pid, DataAt(), &data_, sizeof(data_)) ||
        !WriteMemory(target_.pid, extended_at, extended.data(), extended.size())) {
      return absl::UnavailableError("its memory cannot be written");
    }
    absl::StatusOr<int64_t> executable = thread->SystemCall(SYS_mprotect, {region_, kPageBytes, PROT_READ | PROT_EXEC});
    if (!executable.ok()) return executable.status();
    if (*executable != 0) {
      return absl::FailedPreconditionError(
          "the system forbids it to run code that was not in a file (SELinux?); it was left as it was. Start it under "
          "stallscope run.");
    }
    const uint64_t entry = region_ + (own_thread_ ? code.create : code.call);
    absl::Status ran = thread->Run(entry, DataAt(), region_ + kRegionBytes - 64, kCallLimit);
    if (!ran.ok()) {
      // It may have made the thread, or stand in the middle of the loader: the memory must stay.
      *may_unmap = false;
      const uint32_t one = 1;
      WriteMemory(target_.pid, DataAt() + offsetof(InjectedData, cancelled), &one, sizeof(one));
      return ran;
    }
    ReadMemory(target_.pid, DataAt() + offsetof(InjectedData, dumpable), &data_.dumpable, sizeof(data_.dumpable));
    if (data_.dumpable != 1) {
      return absl::FailedPreconditionError(
          "it does not let itself be looked at (not dumpable: prctl, or rights that it dropped); it was left as it "
          "was. "
          "Start it under stallscope run.");
    }
    if (!own_thread_) return absl::OkStatus();
    int32_t created = 0;
    ReadMemory(target_.pid, DataAt() + offsetof(InjectedData, create_result), &created, sizeof(created));
    if (created == 0) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("it cannot make another thread (", strerror(created),
                     "); it was left as it was. Look at ulimit -u and the cgroup's pids.max."));
  }

  absl::Status WaitForHelper(Injection* result) {
    const absl::Time deadline = absl::Now() + kHelperLimit;
    uint32_t finished = 0;
    while (true) {
      const bool there = ReadMemory(target_.pid, DataAt() + offsetof(InjectedData, finished), &finished,
                                    sizeof(finished)) == sizeof(finished);
      if (!there) return absl::UnavailableError(absl::StrCat("process ", Who(), " ended meanwhile"));
      if (finished != 0) break;
      if (absl::Now() >= deadline) {
        const uint32_t one = 1;
        WriteMemory(target_.pid, DataAt() + offsetof(InjectedData, cancelled), &one, sizeof(one));
        WriteMemory(target_.pid, DataAt() + offsetof(InjectedData, acknowledged), &one, sizeof(one));
        return absl::UnavailableError(
            absl::StrCat("cannot ", verb_, " ", Who(),
                         ": its loader is busy with something else; nothing was changed. Try again later."));
      }
      absl::SleepFor(absl::Microseconds(200));
    }
    ReadMemory(target_.pid, DataAt(), &data_, sizeof(data_));
    if (data_.error_text != 0) error_text_ = ReadText(target_.pid, data_.error_text, 400);
    const uint32_t one = 1;
    WriteMemory(target_.pid, DataAt() + offsetof(InjectedData, acknowledged), &one, sizeof(one));
    // Until the thread has unmapped everything and left.
    const absl::Time left = absl::Now() + absl::Seconds(2);
    while (absl::Now() < left && ReadMemory(target_.pid, region_, &finished, sizeof(finished)) == sizeof(finished)) {
      absl::SleepFor(absl::Microseconds(200));
    }
    return ReadAnswer(result);
  }

  absl::Status ReadAnswer(Injection* result) {
    if (data_.failed != 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot ", verb_, " ", Who(), ": its loader says: ", error_text_, ". Start it under stallscope run."));
    }
    result->answer = data_.request;
    result->answer.why[sizeof(result->answer.why) - 1] = '\0';
    switch (static_cast<wire::AttachOutcome>(result->answer.outcome)) {
      case wire::AttachOutcome::kDone:
      case wire::AttachOutcome::kAlready:
        return absl::OkStatus();
      case wire::AttachOutcome::kOtherVersion:
        return Refuse("another version of the agent is in it. Use the stallscope that it came with.");
      default:
        return Refuse(absl::StrCat(result->answer.why, ". Start it under stallscope run."));
    }
  }

  const TargetProcess& target_;
  const absl::Duration limit_;
  const char* const verb_;
  ForbiddenCode forbidden_;
  InjectedData functions_{}, data_{};
  WayBackPlace way_back_;
  bool own_thread_ = false;
  uint64_t region_ = 0;
  std::string last_why_, error_text_;
  std::map<int, ParkedCall> unfit_;  // where each was when it was judged
};

void CopyText(const std::string& text, char* into, size_t bytes) {
  std::memset(into, 0, bytes);
  std::memcpy(into, text.data(), std::min(text.size(), bytes - 1));
}

// What the agent that is in the process already says of itself.
struct LoadedAgent {
  wire::AgentState state = wire::AgentState::kNotSetUp;
  uint64_t attach = 0, detach = 0;
};
LoadedAgent LookAtAgent(const TargetProcess& target) {
  LoadedAgent agent;
  const auto symbols = ExportedSymbols::Read(target.pid, *target.agent);
  if (!symbols.ok()) return agent;
  uint32_t state = 0;
  ReadMemory(target.pid, symbols->Address("stallscope_agent_state"), &state, sizeof(state));
  agent.state = static_cast<wire::AgentState>(state);
  agent.attach = symbols->Address("stallscope_attach");
  agent.detach = symbols->Address("stallscope_detach");
  return agent;
}

// The library must be the same file for the process as for us: another mount namespace or root may hide it.
bool SeesTheSameFile(int pid, const std::string& path) {
  struct stat ours {
  }, theirs{};
  return stat(path.c_str(), &ours) == 0 && stat(absl::StrCat("/proc/", pid, "/root", path).c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

}  // namespace

absl::StatusOr<Injection> Attach(const TargetProcess& target, const InjectionOptions& options) {
  Injector injector(target, options.limit, "attach to");
  InjectedData data{};
  data.request.bytes = sizeof(data.request);
  data.request.level_plus_one = options.level_plus_one;
  data.request.stacks = options.stacks ? 1 : 0;
  if (options.socket_path.size() >= sizeof(data.request.socket_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path is too long: ", options.socket_path,
                                                   ". Give a shorter one: --collector SOCKET"));
  }
  CopyText(options.socket_path, data.request.socket_path, sizeof(data.request.socket_path));
  CopyText("stallscope_attach", data.entry_name, sizeof(data.entry_name));
  CopyText(options.library, data.path, sizeof(data.path));
  if (target.agent != nullptr) {
    const LoadedAgent agent = LookAtAgent(target);
    if (agent.state == wire::AgentState::kRecording) {
      return injector.Refuse("it is recorded already. stallscope top shows it; stallscope detach ends that.");
    }
    if (agent.state == wire::AgentState::kOff) {
      return injector.Refuse("the agent is in it and has turned itself off. Start it anew under stallscope run.");
    }
    if (agent.attach == 0) return injector.Refuse("an older agent is in it. Start it anew.");
    data.entry = agent.attach;
  } else if (!SeesTheSameFile(target.pid, options.library)) {
    return injector.Refuse(absl::StrCat("it does not see ", options.library,
                                        " (a container, or another root). Run stallscope inside of it."));
  }
  if (absl::Status prepared = injector.Prepare(); !prepared.ok()) return prepared;
  const ParkedThreads parked = FindParked(target.pid);
  Injection result;
  if (absl::Status injected = injector.Inject(data, &result); !injected.ok()) return injected;
  result.waits = DescribeStillParked(target.pid, parked);
  return result;
}

absl::StatusOr<Injection> Detach(const TargetProcess& target, absl::Duration limit) {
  Injector injector(target, limit, "detach from");
  const std::string who = injector.Who();
  if (target.agent == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing to detach from ", who, ": the agent is not in it. stallscope ps lists what is recorded."));
  }
  const LoadedAgent agent = LookAtAgent(target);
  if (agent.state == wire::AgentState::kDetached) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing to detach from ", who, ": that was done before. stallscope attach records it again."));
  }
  if (agent.state != wire::AgentState::kRecording || agent.detach == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing to detach from ", who, ": the agent does not record in it."));
  }
  InjectedData data{};
  data.request.bytes = sizeof(data.request);
  data.entry = agent.detach;
  if (absl::Status prepared = injector.Prepare(); !prepared.ok()) return prepared;
  Injection result;
  if (absl::Status injected = injector.Inject(data, &result); !injected.ok()) return injected;
  return result;
}

}  // namespace stallscope::attach
