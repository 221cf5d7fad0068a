#include "tools/cli/capture_command.h"

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/capture/capture.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/progress_line.h"

namespace stallscope::cli {
namespace {

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int FeedCapture(const std::string& path, ProcessSink* sink, uint32_t pid, Output output) {
  const bool on_terminal = isatty(STDERR_FILENO) != 0 && (output == Output::kAtTheEnd || isatty(STDOUT_FILENO) == 0);
  ProgressLine line(absl::StrCat("reading ", path), NowNs());
  const auto progress = [&line](uint64_t read_bytes, uint64_t file_bytes) {
    std::fputs(line.Update(read_bytes, file_bytes, NowNs()).c_str(), stderr);
  };
  const absl::StatusOr<CaptureSummary> summary = ReadCapture(path, sink, on_terminal ? progress : ReadProgress());
  std::fputs(line.End().c_str(), stderr);
  if (!summary.ok()) return Fail(summary.status()) == kDone ? kDone : kBadInput;
  if (!summary->warning.empty()) Warn(summary->warning);
  const std::set<uint32_t> pids(summary->pids.begin(), summary->pids.end());
  if (pids.empty()) Warn(absl::StrCat("no process is in ", path, ": it was cut or closed before one had connected."));
  if (pid != 0 && !pids.empty() && pids.count(pid) == 0) {
    Warn(absl::StrCat("no process ", pid, " is in ", path, ". Give one of ", absl::StrJoin(pids, ", "), "."));
    return kBadInput;
  }
  return kDone;
}

}  // namespace stallscope::cli
