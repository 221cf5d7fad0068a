// Asking a collector to tell a process something: the way that needs no right to trace it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::cli {

// `control`: with the pid. OK: the process was told; it does so within a second. Unavailable: no collector there, or it
// cannot tell that process.
absl::Status AskCollector(const std::string& socket_path, const v1::Control& control);

}  // namespace stallscope::cli
