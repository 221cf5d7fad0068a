#include "tools/attach/work_in_target.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tools/attach/target_memory.h"

namespace stallscope::attach {
namespace {

constexpr absl::Duration kCallLimit = absl::Seconds(10);
constexpr absl::Duration kThreadLimit = absl::Seconds(15);
constexpr absl::Duration kUnmapLimit = absl::Seconds(2);
constexpr absl::Duration kLookAgain = absl::Microseconds(200);
constexpr uint32_t kSpins = 1 << 22;  // about 0.1 s, or 0.2
constexpr size_t kMostErrorText = 400;

}  // namespace

WorkInTarget::WorkInTarget(Undertaking undertaking, const TargetFunctions& functions, uint64_t way_back_at,
                           bool own_thread, const InjectedData& data)
    : undertaking_(std::move(undertaking)),
      functions_(functions),
      way_back_at_(way_back_at),
      own_thread_(own_thread),
      data_(data) {
  data_.request.own_thread = own_thread ? 1 : 0;
}

absl::Status WorkInTarget::Begin(Tracee* thread) {
  if (absl::Status saved = thread->Save(way_back_at_); !saved.ok()) return saved;
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
  // The answer first.
  if (done.ok() && !own_thread_) ReadData();
  const bool keep = thread->went_back() || (done.ok() ? own_thread_ : !may_unmap);
  if (!keep && thread->SystemCall(SYS_munmap, {region_, kRegionBytes}).ok()) region_ = 0;
  return done;
}

absl::Status WorkInTarget::Finish(wire::AttachRequest* answer) {
  if (own_thread_) {
    if (absl::Status waited = WaitForThread(); !waited.ok()) return waited;
  }
  *answer = data_.request;
  answer->why[sizeof(answer->why) - 1] = '\0';
  return JudgeAnswer(data_, error_text_, undertaking_);
}

void WorkInTarget::FillIn(const InjectedCode& code, uint64_t extended_at) {
  data_.dlopen = functions_.dlopen, data_.dlsym = functions_.dlsym, data_.dlerror = functions_.dlerror;
  data_.munmap = functions_.munmap, data_.errno_location = functions_.errno_location;
  data_.pthread_create = functions_.pthread_create;
  data_.pthread_self = functions_.pthread_self, data_.pthread_detach = functions_.pthread_detach;
  data_.open_flags = functions_.open_flags;
  data_.region = region_, data_.region_bytes = kRegionBytes, data_.helper = region_ + code.helper;
  data_.pause_ns = 1'000'000;
  data_.extended = extended_at, data_.spins = kSpins;
}

absl::Status WorkInTarget::RunInRegion(Tracee* thread, bool* may_unmap) {
  const InjectedCode code = GetInjectedCode(thread->saved_context());
  const std::vector<uint8_t>& extended = thread->saved_extended();
  const uint64_t extended_at = DataAt() + kPageBytes;
  FillIn(code, extended_at);
  if (!WriteMemory(undertaking_.pid, region_, code.bytes.data(), code.bytes.size()) ||
      !WriteMemory(undertaking_.pid, DataAt(), &data_, sizeof(data_)) ||
      !WriteMemory(undertaking_.pid, extended_at, extended.data(), extended.size())) {
    return absl::UnavailableError(
        "its memory cannot be written; it was left as it was. Start it under stallscope run.");
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
    Tell(offsetof(InjectedData, cancelled));
    return ran;
  }
  ReadMemory(undertaking_.pid, DataAt() + offsetof(InjectedData, dumpable), &data_.dumpable, sizeof(data_.dumpable));
  if (data_.dumpable != 1) {
    return absl::FailedPreconditionError(
        "it does not let itself be looked at (not dumpable: prctl, or rights that it dropped); it was left as it "
        "was. Start it under stallscope run.");
  }
  if (!own_thread_) return absl::OkStatus();
  int32_t created = 0;
  ReadMemory(undertaking_.pid, DataAt() + offsetof(InjectedData, create_result), &created, sizeof(created));
  if (created == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("it cannot make another thread (", strerror(created),
                   "); it was left as it was. Look at ulimit -u and the cgroup's pids.max."));
}

absl::Status WorkInTarget::WaitForThread() {
  const absl::Time deadline = absl::Now() + kThreadLimit;
  uint32_t finished = 0;
  while (true) {
    const bool there = ReadMemory(undertaking_.pid, DataAt() + offsetof(InjectedData, finished), &finished,
                                  sizeof(finished)) == sizeof(finished);
    if (!there) {
      return absl::UnavailableError(
          absl::StrCat("process ", undertaking_.Who(), " ended meanwhile. Start it under stallscope run."));
    }
    if (finished != 0) break;
    if (absl::Now() >= deadline) {
      Tell(offsetof(InjectedData, cancelled));
      Tell(offsetof(InjectedData, acknowledged));
      return absl::UnavailableError(
          undertaking_.Cannot("its loader is busy with something else; nothing was changed. Try again later."));
    }
    absl::SleepFor(kLookAgain);
  }
  ReadData();
  Tell(offsetof(InjectedData, acknowledged));
  // Until the thread has unmapped everything and left.
  const absl::Time left = absl::Now() + kUnmapLimit;
  while (absl::Now() < left && ReadMemory(undertaking_.pid, region_, &finished, sizeof(finished)) == sizeof(finished)) {
    absl::SleepFor(kLookAgain);
  }
  return absl::OkStatus();
}

void WorkInTarget::ReadData() {
  ReadMemory(undertaking_.pid, DataAt(), &data_, sizeof(data_));
  if (data_.error_text != 0) error_text_ = ReadText(undertaking_.pid, data_.error_text, kMostErrorText);
}

void WorkInTarget::Tell(size_t offset) const {
  const uint32_t one = 1;
  WriteMemory(undertaking_.pid, DataAt() + offset, &one, sizeof(one));
}

absl::Status JudgeAnswer(const InjectedData& data, const std::string& error_text, const Undertaking& undertaking) {
  if (data.failed != 0) {
    return undertaking.Refuse(absl::StrCat("its loader says: ", error_text.empty() ? "nothing" : error_text,
                                           ". Start it under stallscope run."));
  }
  const std::string why(data.request.why, strnlen(data.request.why, sizeof(data.request.why)));
  switch (static_cast<wire::AttachOutcome>(data.request.outcome)) {
    case wire::AttachOutcome::kDone:
    case wire::AttachOutcome::kAlready:
      return absl::OkStatus();
    case wire::AttachOutcome::kOtherVersion:
      return undertaking.Refuse("another version of the agent is in it. Use the stallscope that it came with.");
    default:
      return undertaking.Refuse(
          absl::StrCat(why.empty() ? "the agent in it gave no answer" : why, ". Start it under stallscope run."));
  }
}

}  // namespace stallscope::attach
