// What a window adds up: lines, tokens, steps, waits by name. Windows of any length are merges of these.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/base/event.h"
#include "collector/base/line.h"
#include "collector/windows/line_notes.h"
#include "collector/windows/log_histogram.h"

namespace stallscope {

// Blocking CUDA calls of one name. `name_key` is domain << 16 | callback id.
struct SyncSums {
  uint32_t name_key = 0;
  uint64_t calls = 0;
  int64_t total_ns = 0, over_wait_ns = 0, within_clock_error_ns = 0, idle_inside_ns = 0, unneeded_ns = 0;
};

// Batches that the server told of in range texts.
struct BatchSums {
  uint64_t batches = 0, context_requests = 0, generation_requests = 0, context_tokens = 0, generation_tokens = 0;
};

struct WindowSums {
  uint64_t steps = 0, tokens = 0;
  int64_t wall_ns = 0;
  HostNs first_begin = 0, last_end = 0;  // of the steps; 0 without steps
  LineSums lines{}, hidden{};
  uint64_t events = 0, dropped = 0, late = 0, clamped = 0, unmatched = 0;
  uint64_t mid_step_syncs = 0;
  BatchSums batch;
  std::vector<SyncSums> syncs;  // few names
  LogHistogram itl;             // step length less idle.no_request
  LineNotes notes{};

  SyncSums& Sync(uint32_t name_key);
  void Merge(const WindowSums& other);
  void Clear();
};

}  // namespace stallscope
