// The --window option: "1s", "10s", "5m", or "all" for everything since the start.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace stallscope::cli {

// Nanoseconds; 0 for "all".
absl::StatusOr<int64_t> ParseWindow(const std::string& text);

}  // namespace stallscope::cli
