#include "agent/nvtx/previous_tool.h"

#include "agent/hot/recorder.h"

namespace stallscope::agent {

constinit PreviousFunctions g_previous_core, g_previous_domains;

void PreviousHandles::Add(uint64_t theirs, uint64_t ours) noexcept {
  if (theirs == 0) return;
  // One that is there already first, also behind an entry that has become free: a second one would outlive a Take.
  for (uint32_t i = 0; i < kTries; ++i) {
    Entry& entry = entries_[(First(theirs) + i) % kEntries];
    if (entry.theirs.load(std::memory_order_acquire) != theirs) continue;
    entry.ours.store(ours, std::memory_order_release);
    return;
  }
  for (uint32_t i = 0; i < kTries; ++i) {
    Entry& entry = entries_[(First(theirs) + i) % kEntries];
    uint64_t found = 0;
    if (!entry.theirs.compare_exchange_strong(found, theirs, std::memory_order_acq_rel) && found != theirs) continue;
    entry.ours.store(ours, std::memory_order_release);
    return;
  }
  Count(wire::Counter::kInternal);
}

uint64_t PreviousHandles::Of(uint64_t theirs) const noexcept {
  if (theirs == 0) return 0;
  for (uint32_t i = 0; i < kTries; ++i) {
    const Entry& entry = entries_[(First(theirs) + i) % kEntries];
    if (entry.theirs.load(std::memory_order_acquire) == theirs) return entry.ours.load(std::memory_order_acquire);
  }
  return 0;
}

uint64_t PreviousHandles::Take(uint64_t theirs) noexcept {
  if (theirs == 0) return 0;
  for (uint32_t i = 0; i < kTries; ++i) {
    Entry& entry = entries_[(First(theirs) + i) % kEntries];
    if (entry.theirs.load(std::memory_order_acquire) != theirs) continue;
    const uint64_t ours = entry.ours.load(std::memory_order_acquire);
    entry.theirs.store(0, std::memory_order_release);
    return ours;
  }
  return 0;
}

}  // namespace stallscope::agent
