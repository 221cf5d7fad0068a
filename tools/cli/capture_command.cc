#include "tools/cli/capture_command.h"

#include "collector/capture/capture.h"
#include "tools/cli/exit_code.h"

namespace stallscope::cli {

int FeedCapture(const std::string& path, ProcessSink* sink) {
  absl::StatusOr<CaptureSummary> summary = ReadCapture(path, sink);
  if (!summary.ok()) return Fail(summary.status()) == kDone ? kDone : kBadInput;
  if (!summary->warning.empty()) Warn(summary->warning);
  return kDone;
}

}  // namespace stallscope::cli
