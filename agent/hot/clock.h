// The stream's clock: TSC ticks where they are trustworthy, and how they become CLOCK_MONOTONIC nanoseconds.
//
// Ticks() is read on the program's threads; calibration runs at set-up, on the streaming thread each round, and in a
// process without one now and then on the program's thread (one vDSO call, no system call).
#pragma once

#include <cstdint>

#include "agent/hot/process_state.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stallscope::agent {

uint64_t MonotonicNs() noexcept;

inline uint64_t FastTicks() noexcept {
#if defined(__x86_64__)
  if (__builtin_expect(g_use_tsc, 1)) return __rdtsc();
#endif
  return MonotonicNs();
}

struct ClockPair {
  uint64_t ticks, ns;
  uint64_t uncertainty_ns;
};
ClockPair SampleClock() noexcept;

// First calibration of a fresh header. `use_tsc` was decided by agent/entry (the kernel trusts the TSC, and so do we).
void StartClock(wire::Header* header, bool use_tsc) noexcept;

// Moves the base of the calibration to now and measures the rate anew, over up to 20 s. Any thread; a second one at the
// same moment returns at once.
void RefreshClock(wire::Header* header) noexcept;

// CLOCK_REALTIME minus CLOCK_MONOTONIC, as of the last refresh; for deadlines that a program gave as wall time.
extern std::atomic<int64_t> g_realtime_offset_ns;

// With the calibration in the header as it is now.
uint64_t TicksToNs(const wire::Header* header, uint64_t ticks) noexcept;

}  // namespace stallscope::agent
