// When each recent piece of GPU work was asked for, by correlation id: no record of it may begin earlier.
//
// Written in CUPTI's callback on the thread that makes the call (one store), read by whoever decodes a buffer. A table
// of fixed size: an id's entry is overwritten after 65,536 more, and then nothing is said about it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace stallscope::agent {

class LaunchTimes {
 public:
  void Note(uint32_t correlation_id, uint64_t now_ticks) noexcept {
    entries_[correlation_id % kEntries].store(uint64_t{correlation_id} << 32 | Coarse(now_ticks),
                                              std::memory_order_relaxed);
  }

  // How many ticks before `now_ticks` the call began, rounded up; 0 when that is not known.
  uint64_t AgeTicks(uint32_t correlation_id, uint64_t now_ticks) const noexcept {
    const uint64_t entry = entries_[correlation_id % kEntries].load(std::memory_order_relaxed);
    if (correlation_id == 0 || entry >> 32 != correlation_id) return 0;
    const uint32_t age = Coarse(now_ticks) - static_cast<uint32_t>(entry);
    // The coarse clock turns over after some 20 minutes; older entries cannot be told from young ones.
    return (uint64_t{age} + 1) << kShift;
  }

 private:
  static constexpr uint32_t kEntries = 65536;
  static constexpr uint32_t kShift = 10;  // about 0.3 us of TSC
  static uint32_t Coarse(uint64_t ticks) noexcept { return static_cast<uint32_t>(ticks >> kShift); }

  std::atomic<uint64_t> entries_[kEntries] = {};
};

}  // namespace stallscope::agent
