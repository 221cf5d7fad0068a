// Notices that records go missing because another client of CUPTI took the buffers or switched the kinds off, from
// what CUPTI asked of us alone. For clients that other_clients.h cannot see.
//
// CUPTI needs a buffer for every record. Work that was enqueued while no buffer of ours is out, or more work than the
// buffers that are out could hold, without CUPTI asking for one, left no records with us. A kernel that never ends
// holds its buffer back but not the requests, so it is not mistaken for that. Single thread (the keeper).
#pragma once

#include <cstdint>

namespace stallscope::agent {

class TakeoverWatch {
 public:
  // Cumulative counts, and the buffers that CUPTI holds now.
  struct Observed {
    uint64_t enqueued = 0;     // calls that put work on a stream and were seen to succeed
    uint64_t requests = 0;     // buffers asked for on the program's threads
    uint64_t completions = 0;  // buffers given back with more in them than what CUPTI says of itself
    uint64_t pulses = 0;       // buffers given back at all
    uint32_t outstanding = 0;
  };
  enum class Verdict : uint8_t {
    kFine,
    kSwitchedOff,  // work leaves no buffer asked for and none is out, or only a flush's own record comes: the kinds are off
    kTakenAway  // the buffers that are out went elsewhere
  };

  // At most one answer other than kFine until the next Reset or sign of life.
  Verdict Look(uint64_t now_ns, const Observed& observed) noexcept {
    if (!begun_ || observed.requests != last_.requests || observed.completions != last_.completions) {
      Reset(observed);
      return Verdict::kFine;
    }
    const uint64_t launched = observed.enqueued - last_.enqueued;
    if (launched == 0 || answered_) return Verdict::kFine;
    if (first_launch_ns_ == 0) first_launch_ns_ = now_ns;
    if (now_ns - first_launch_ns_ < kPatienceNs) return Verdict::kFine;
    Verdict verdict = Verdict::kFine;
    if (observed.outstanding == 0 || observed.pulses != last_.pulses) {
      if (launched >= kFewest) verdict = Verdict::kSwitchedOff;
    } else if (launched > uint64_t{observed.outstanding} * kMostRecordsInABuffer) {
      verdict = Verdict::kTakenAway;
    }
    answered_ = verdict != Verdict::kFine;
    return verdict;
  }

  void Reset(const Observed& observed) noexcept {
    begun_ = true;
    answered_ = false;
    last_ = observed;
    first_launch_ns_ = 0;
  }

  static constexpr uint64_t kPatienceNs = 2'000'000'000;
  static constexpr uint64_t kFewest = 16;
  // Of the shortest GPU record, that of a graph launch in the oldest layout.
  static constexpr uint64_t kMostRecordsInABuffer = 512 * 1024 / 48;

 private:
  bool begun_ = false, answered_ = false;
  Observed last_;
  uint64_t first_launch_ns_ = 0;
};

}  // namespace stallscope::agent
