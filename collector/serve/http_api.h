// What each path of the endpoint answers, apart from how it is sent. Stateless.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "collector/serve/live_source.h"

namespace stallscope::serve {

struct Answer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  bool live = false;  // begin a stream of server-sent events with this window
  int64_t window_ns = 0;
};

// `target` as it stands in the request line; `host` the Host header.
Answer AnswerRequest(std::string_view method, std::string_view target, std::string_view host, LiveSource* source);

// "1s", "10s", "5m"; "all" is 0. InvalidArgument says what is accepted.
absl::StatusOr<int64_t> ParseWindow(std::string_view text);

// {"schema":"stallscope.processes/1","processes":[...]}
std::string ProcessesToJson(const std::vector<ProcessStatus>& processes);

}  // namespace stallscope::serve
