// Asking a collector to have a process end its recording: the way that needs no right to trace it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace stallscope::cli {

// OK: the process was told; it lets go within a second or so. Unavailable: no collector there, or it cannot tell it.
absl::Status AskCollectorToDetach(const std::string& socket_path, uint32_t pid, int timeout_ms);

}  // namespace stallscope::cli
