// What a blocking CUDA call waited for, as far as host calls tell: noted when the call is met in time order, since
// events and streams are used again soon after.
#pragma once

#include <array>
#include <cstdint>

#include "collector/base/event.h"

namespace stallscope {

struct SyncContext {
  ThreadIndex thread = 0;
  uint64_t call_number = 0;
  HostNs begin = 0, end = 0;
  // Last work of the event that the call names, by correlation id: one id for each stream that leads to it.
  static constexpr int kMaxAwaited = 4;
  std::array<uint32_t, kMaxAwaited> awaited{};
  uint8_t awaited_count = 0;
  bool event_known = false;  // the event's record was seen
  bool no_records = false;   // the awaited work was launched without CUPTI: when it ended cannot be known
  uint32_t last_copy = 0;    // correlation id of the last device-to-host copy that this call made visible; 0: none
};

}  // namespace stallscope
