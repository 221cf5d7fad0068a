// CUPTI's clock against ours, where CUPTI does not stamp with our callback: before CUDA 11.6, beside other subscribers,
// after another client registered a clock of its own.
//
// The relation is measured by reading both clocks at once, each time a buffer is decoded. Rate and offset are fitted, so
// that drift and a clock that counts in other units (a profiler's cycle counter) are followed; when the library's clock
// jumps (it is the wall clock on Linux, and somebody set it), a new piece begins and older times go on being read by the
// piece they belong to. Written by whoever decodes a buffer, one at a time (a second one leaves it as it is); read by all.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/cupti/cupti_interface.h"

namespace stallscope::agent {

class LibraryClock {
 public:
  // CLOCK_MONOTONIC nanoseconds of both readings, the tightest of a few. About 0.5 us.
  void Measure(CuptiInterface* cupti) noexcept;
  // The library stamps with our callback: nothing to convert from here on.
  void UseOwn() noexcept {
    pieces_.store(0, std::memory_order_release);
    uncertainty_ns_.store(0, std::memory_order_relaxed);
  }

  uint64_t ToMonotonic(uint64_t library_ns) const noexcept;
  // Of ToMonotonic for times around the last measurement; 0 with our own callback.
  uint64_t uncertainty_ns() const noexcept { return uncertainty_ns_.load(std::memory_order_relaxed); }

 private:
  // ours = ours_ns + (theirs - theirs_ns) * rate. The last measurement, and the rate since the piece began.
  struct Piece {
    std::atomic<uint64_t> ours_ns{0}, theirs_ns{0};
    std::atomic<double> rate{1.0};
    uint64_t begin_ours_ns = 0, begin_theirs_ns = 0;
    std::atomic<uint64_t> first_theirs_ns{0};
  };
  void Take(uint64_t ours_ns, uint64_t theirs_ns, uint64_t error_ns) noexcept;
  static uint64_t Convert(const Piece& piece, uint64_t theirs_ns) noexcept;

  std::atomic<bool> busy_{false};
  std::atomic<uint32_t> pieces_{0};  // begun so far; the newest is at (pieces_ - 1) % 2
  Piece piece_[2];
  std::atomic<uint64_t> uncertainty_ns_{0};
};

}  // namespace stallscope::agent
