#include "collector/main/waits_in_flight.h"

#include <sys/syscall.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace stallscope {
namespace {

constexpr size_t kMostWaits = 256;
constexpr HostNs kLooksForNs = 2'000'000'000;

// The same wait, maybe interrupted by a tracer and restarted by the kernel since.
bool IsSameWait(const ParkedCall& before, const ParkedCall& now) {
  return now.stack_pointer == before.stack_pointer && now.program_counter == before.program_counter &&
         (now.number == before.number || now.number == SYS_restart_syscall);
}

}  // namespace

std::optional<ParkedCall> WaitsInFlight::CallOf(uint32_t tid) const {
  return ParseParkedCall(proc_->Text(absl::StrCat(pid_, "/task/", tid, "/syscall")));
}

void WaitsInFlight::Begin(HostNs now) {
  waits_.clear();
  begun_at_ = now;
  Look(now);
}

void WaitsInFlight::LookAgain(HostNs now) {
  if (begun_at_ != 0 && now - begun_at_ < kLooksForNs) Look(now);
}

void WaitsInFlight::Look(HostNs now) {
  if (pid_ == 0) return;
  for (const uint32_t tid : proc_->Threads(pid_)) {
    const auto call = CallOf(tid);
    if (!call.has_value() || call->number < 0) continue;
    const auto known = waits_.find(tid);
    if (known == waits_.end() ? waits_.size() == kMostWaits : IsSameWait(known->second.call, *call)) continue;
    waits_[tid] = {*call, now};
  }
}

void WaitsInFlight::AppendTo(std::vector<BlockedThread>* list, HostNs now) const {
  for (auto at = waits_.begin(); at != waits_.end();) {
    const auto& [tid, wait] = *at;
    const auto still = CallOf(tid);
    const auto status = proc_->ThreadStatus(pid_, tid);
    // The agent's own threads are nobody's business.
    if (!still.has_value() || !IsSameWait(wait.call, *still) || !status.has_value() ||
        absl::StartsWith(status->name, "stallscope")) {
      at = waits_.erase(at);
      continue;
    }
    BlockedThread blocked;
    blocked.tid = status->own_tid != 0 ? status->own_tid : tid;
    blocked.thread_name = status->name;
    blocked.call = SystemCallName(wait.call.number);
    blocked.object = ObjectOf(wait.call);
    blocked.for_ns = now - wait.seen_since;
    const bool known = std::any_of(list->begin(), list->end(),
                                   [&blocked](const BlockedThread& one) { return one.tid == blocked.tid; });
    if (!known) list->push_back(std::move(blocked));
    ++at;
  }
}

}  // namespace stallscope
