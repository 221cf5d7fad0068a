#include "agent/cupti/library_clock.h"

#include "agent/hot/recorder.h"

namespace stallscope::agent {

int64_t LibraryClockOffset(CuptiInterface* cupti) noexcept {
  int64_t offset_ns = 0;
  uint64_t tightest_ns = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    uint64_t library_ns = 0;
    const uint64_t before_ns = MonotonicNs();
    if (cupti->Timestamp(&library_ns) != CUPTI_SUCCESS) continue;
    const uint64_t bracket_ns = MonotonicNs() - before_ns;
    if (bracket_ns >= tightest_ns) continue;
    tightest_ns = bracket_ns;
    offset_ns = static_cast<int64_t>(before_ns + bracket_ns / 2 - library_ns);
  }
  return offset_ns;
}

}  // namespace stallscope::agent
