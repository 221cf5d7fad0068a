#include "collector/main/session_notices.h"

#include "absl/strings/str_cat.h"
#include "proto/wire/shm.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

std::string OrUnknown(const std::string& text) { return text.empty() ? "another tool" : text; }

}  // namespace

void SessionNotices::OnState(const v1::State& state, const std::string& process) {
  switch (state.what()) {
    case v1::State::CUPTI_TAKEN:
      lines_["cupti"] = absl::StrCat("CUPTI is held by ", OrUnknown(state.text()), " in ", process,
                                     ": OS and runtime-call lines go on; GPU lines start again when it ends");
      break;
    case v1::State::CUPTI_MISSING:
      lines_["cupti"] = absl::StrCat("no CUPTI in ", process, state.text().empty() ? "" : ": ", state.text(),
                                     "; GPU lines are missing. stallscope doctor says what to install");
      break;
    case v1::State::CUPTI_ACTIVE:
    case v1::State::CUPTI_RETURNED:
      lines_.erase("cupti");
      break;
    case v1::State::SIMULATED_GPU:
      lines_["gpu"] = "the GPU is simulated: GPU times are made up, host times are real";
      break;
    case v1::State::DISABLED:
      lines_["agent"] = absl::StrCat("the agent in ", process,
                                     " turned itself off: ", state.text().empty() ? "no reason given" : state.text());
      break;
    case v1::State::DETACHED:
      lines_["agent"] = absl::StrCat("the agent is detached from ", process, ": nothing more is recorded");
      break;
    default:
      break;
  }
}

void SessionNotices::OnHealth(const v1::Health& health) {
  const auto counter = [&health](wire::Counter which) -> uint64_t {
    const int index = static_cast<int>(which);
    return index < health.counters_size() ? health.counters(index) : 0;
  };
  if (const uint64_t threads = counter(wire::Counter::kSlotsExhausted); threads > 0) {
    lines_["slots"] = absl::StrCat(threads, " times a thread found no slot: its events are missing");
  }
  if (const uint64_t names = counter(wire::Counter::kStringsExhausted); names > 0) {
    lines_["strings"] = absl::StrCat(names, " names did not fit into the agent's table: those kernels have no name");
  }
  if (const uint64_t dropped = counter(wire::Counter::kCuptiDropped); dropped > 0) {
    lines_["cupti_dropped"] = absl::StrCat("CUPTI dropped ", dropped, " GPU records: it had no buffer");
  }
}

std::vector<std::string> SessionNotices::Lines() const {
  std::vector<std::string> lines;
  for (const auto& [cause, line] : lines_) lines.push_back(line);
  return lines;
}

}  // namespace stallscope
