#include "collector/main/session_notices.h"

#include "absl/strings/str_cat.h"
#include "collector/budget/report_text.h"
#include "proto/wire/shm.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

std::string OrUnknown(const std::string& text) { return text.empty() ? "another tool" : text; }

// Records of which no number was made, each under the cause by which it was found out.
struct Refused {
  wire::Counter counter;
  const char* why;
};
constexpr Refused kRefused[] = {
    {wire::Counter::kGpuZeroTime, "had no times (CUPTI had no room on the device to take them)"},
    {wire::Counter::kGpuReversedTime, "ended before they began"},
    {wire::Counter::kGpuBeforeLaunch, "began before their process or their launch"},
    {wire::Counter::kGpuUnfinished, "came before their work had ended"},
    {wire::Counter::kGpuOtherClock, "had times of another clock"},
    {wire::Counter::kGpuUnknownKind, "were of a kind that the agent does not know"},
};

constexpr uint64_t kNsPerS = 1'000'000'000;

}  // namespace

void SessionNotices::OnState(const v1::State& state, const std::string& process) {
  switch (state.what()) {
    case v1::State::CUPTI_TAKEN:
      if (taken_at_ns_ == 0) taken_at_ns_ = state.monotonic_ns();
      taken_by_ = OrUnknown(state.text());
      lines_["cupti"] =
          absl::StrCat("CUPTI is held by ", OrUnknown(state.text()), " in ", process,
                       ": OS and runtime-call lines go on; GPU lines start again when it ends. ", kKnownWithoutCupti);
      break;
    case v1::State::CUPTI_MISSING:
      lines_["cupti"] =
          absl::StrCat("no CUPTI in ", process, state.text().empty() ? "" : ": ", state.text(),
                       "; GPU lines are missing. stallscope doctor says what to install. ", kKnownWithoutCupti);
      break;
    case v1::State::CUPTI_ACTIVE:
    case v1::State::CUPTI_RETURNED:
      lines_.erase("cupti");
      MarkInterval(state.monotonic_ns());
      break;
    case v1::State::STACKS_MISSING:
      lines_["stacks"] = absl::StrCat("no stacks in ", process, ": ", state.text(), "; everything else is recorded");
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
  if (const uint64_t buffers = counter(wire::Counter::kCuptiBuffersLost); buffers > 0) {
    lines_["cupti_buffers"] = absl::StrCat(buffers, " buffers with GPU records went to another client of CUPTI");
  }
  if (const uint64_t times = counter(wire::Counter::kCuptiSwitchedOff); times > 0) {
    lines_["cupti_off"] =
        absl::StrCat(times, " times another client of CUPTI had switched GPU records off: those of up to ",
                     "3 s are missing each time");
  }
  std::string refused;
  for (const Refused& cause : kRefused) {
    if (const uint64_t records = counter(cause.counter); records > 0) {
      absl::StrAppend(&refused, refused.empty() ? "" : ", ", records, " ", cause.why);
    }
  }
  if (!refused.empty()) lines_["gpu_refused"] = absl::StrCat("GPU records of which no number was made: ", refused);
}

void SessionNotices::MarkInterval(uint64_t until_ns) {
  if (taken_at_ns_ == 0) return;
  if (until_ns > taken_at_ns_) away_ns_ += until_ns - taken_at_ns_;
  taken_at_ns_ = 0;
  ++times_away_;
  lines_["cupti_away"] = absl::StrCat("GPU lines are missing for ", away_ns_ / kNsPerS, ".",
                                      away_ns_ % kNsPerS / 100'000'000, " s in which CUPTI was held by ", taken_by_,
                                      times_away_ > 1 ? absl::StrCat(" and others (", times_away_, " times)") : "");
}

std::vector<std::string> SessionNotices::Lines() const {
  std::vector<std::string> lines;
  for (const auto& [cause, line] : lines_) lines.push_back(line);
  return lines;
}

}  // namespace stallscope
