#include "tools/cli/exit_code.h"

#include <cstdio>
#include <string>

namespace stallscope::cli {

int Fail(const absl::Status& status) {
  Warn(std::string(status.message()));
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kOutOfRange:
      return kBadInput;
    default:
      return kNotAvailable;
  }
}

void Warn(std::string_view message) {
  const std::string line = "stallscope: " + std::string(message) + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace stallscope::cli
