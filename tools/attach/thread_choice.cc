#include "tools/attach/thread_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/attach/interruption.h"

namespace stallscope::attach {

std::vector<Candidate> ThreadChoice::Rank(const ParkedThreads& parked) {
  std::vector<Candidate> candidates;
  for (const auto& [tid, call] : parked) {
    const std::optional<int> rank = InterruptionRank(call);
    if (!rank.has_value()) {
      last_why_ = absl::StrCat("in ", SystemCallName(call.number));
      continue;
    }
    if (!libc_.IsCode(call.program_counter)) continue;
    const auto judged = unfit_.find(tid);
    if (judged != unfit_.end() && judged->second == call) continue;
    candidates.push_back({tid, *rank, call});
  }
  // The first thread last: it is the one that most often has something to do.
  std::stable_sort(candidates.begin(), candidates.end(), [this](const Candidate& a, const Candidate& b) {
    return std::make_pair(a.rank, a.tid == pid_) < std::make_pair(b.rank, b.tid == pid_);
  });
  return candidates;
}

void ThreadChoice::RuleOut(const Candidate& candidate, const std::string& why) {
  last_why_ = why;
  unfit_[candidate.tid] = candidate.call;
}

}  // namespace stallscope::attach
