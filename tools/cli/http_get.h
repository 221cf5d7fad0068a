// One GET from a collector's HTTP address.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace stallscope::cli {

// `address`: "127.0.0.1:9417". The body of a 200 answer of at most 64 MiB. Unavailable: nobody answers within
// `timeout_ms`; InvalidArgument: the address cannot be read, or another answer than 200.
absl::StatusOr<std::string> HttpGet(const std::string& address, const std::string& target, int timeout_ms);

}  // namespace stallscope::cli
