#include "tools/attach/waits_in_flight.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tools/attach/target_process.h"

namespace stallscope::attach {
namespace {

constexpr int kLooks = 3;

std::string TaskFile(int pid, int tid, const char* name) {
  return ReadProcFile(absl::StrCat("/proc/", pid, "/task/", tid, "/", name));
}

std::string ObjectText(int pid, const ParkedCall& call) {
  if (const int descriptor = DescriptorOf(call); descriptor >= 0) {
    std::string target(512, '\0');
    const ssize_t length =
        readlink(absl::StrCat("/proc/", pid, "/fd/", descriptor).c_str(), target.data(), target.size());
    target.resize(length > 0 ? static_cast<size_t>(length) : 0);
    return absl::StrCat("fd ", descriptor, target.empty() ? "" : " ", target);
  }
  return call.number == SYS_futex ? absl::StrFormat("0x%x", call.arguments[0]) : std::string();
}

}  // namespace

std::string ThreadNameOf(int pid, int tid) {
  return std::string(absl::StripTrailingAsciiWhitespace(TaskFile(pid, tid, "comm")));
}

ParkedThreads FindParked(int pid) {
  ParkedThreads parked;
  for (const int tid : ThreadsOf(pid)) {
    const auto call = ParseParkedCall(TaskFile(pid, tid, "syscall"));
    if (!call.has_value() || call->number < 0) continue;
    if (absl::StartsWith(ThreadNameOf(pid, tid), "stallscope")) continue;
    parked[tid] = *call;
  }
  return parked;
}

std::vector<WaitInFlight> DescribeStillParked(int pid, const ParkedThreads& before) {
  std::vector<WaitInFlight> waits;
  for (const auto& [tid, call] : before) {
    auto now = ParseParkedCall(TaskFile(pid, tid, "syscall"));
    // The one that was borrowed may be on its way back.
    for (int looks = 0; !now.has_value() && looks < kLooks; ++looks) {
      absl::SleepFor(absl::Milliseconds(1));
      now = ParseParkedCall(TaskFile(pid, tid, "syscall"));
    }
    // An interrupted call goes on under another number.
    const bool same = now.has_value() && now->stack_pointer == call.stack_pointer &&
                      now->program_counter == call.program_counter &&
                      (now->number == call.number || now->number == SYS_restart_syscall);
    if (!same) continue;
    waits.push_back({tid, ThreadNameOf(pid, tid), SystemCallName(call.number), ObjectText(pid, call)});
  }
  return waits;
}

}  // namespace stallscope::attach
