// Reads the collector's Control frame. The collector is of the same user, but its bytes are still checked: whatever is
// malformed yields "nothing asked for".
#pragma once

#include <cstdint>

namespace stallscope::agent {

struct ControlRequest {
  bool has_level = false, has_threshold = false, has_stacks = false, flush = false, detach = false, refused = false;
  uint32_t level = 0, wait_threshold_ns = 0, cost_limit_ppm = 0, node_window_ms = 0;
  bool stacks = false;
  char refusal[160] = {};
};

// `bytes`: one Frame without its length. False: not a Control, or malformed.
bool ParseControlFrame(const uint8_t* bytes, uint64_t length, ControlRequest* request) noexcept;

}  // namespace stallscope::agent
