// What one thread did: its finished calls in the order in which they ended, with nesting; its scheduler samples; its
// losses.
//
// Written by: Timeline. Read by: steps and budget. Single thread. Numbers of calls stay valid until DropBefore passes
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/base/event.h"
#include "collector/timeline/call.h"
#include "collector/timeline/sequence_deque.h"

namespace stallscope {

struct TimeSpan {
  HostNs begin = 0, end = 0;
};

// How a runnable thread's time split into running and waiting for a CPU.
struct RunShare {
  uint64_t on_cpu_ns = 0, run_delay_ns = 0;
};

class ThreadTimeline {
 public:
  // What the thread was doing just before an instant.
  struct Position {
    const Call* call = nullptr;    // the innermost call that covers the instant; nullptr: it ran its own code
    uint64_t number = 0;           // of `call`
    HostNs segment_begin = 0;      // since when it was in `call` and in nothing nested, or ran its own code
    const Call* before = nullptr;  // own code: the call that ended at segment_begin
    const Call* after = nullptr;   // own code: the next call that ends at or after the instant
  };

  // Returns the call's number. A call that ends before the one already stored is moved to that one's end (counted by
  // the caller through `clamped`): the order of ends is what every look-up relies on.
  uint64_t Add(Call call, bool* clamped);
  void AddSample(const ThreadSampleEvent& sample);
  void AddLoss(HostNs from, HostNs to) { losses_.push_back({from, to}); }

  // What the thread did just before `at`. Calls that end after `visible_until` are taken as not there.
  // A wait inside a blocking CUDA call is that call's own way of waiting, so the CUDA call is returned.
  Position Before(HostNs at, HostNs visible_until) const;

  // Number of the first call with end >= at; calls().end() when none.
  uint64_t FirstEndingAtOrAfter(HostNs at) const;

  // The call directly around call `number`; nullptr when none is known.
  const Call* Outer(uint64_t number, uint64_t* outer_number) const;
  // True when a blocking CUDA call lies around call `number`.
  bool InsideBlockingCuda(uint64_t number) const;

  // Of the pair of samples that covers most of [begin, end) and was taken until `visible_until`. Zeros when there is
  // none.
  RunShare ShareWhile(HostNs begin, HostNs end, HostNs visible_until) const;

  // Everything that started before was dropped for lack of memory, though it might be needed.
  HostNs kept_since() const { return kept_since_; }
  const std::vector<TimeSpan>& losses() const { return losses_; }
  const SequenceDeque<Call>& calls() const { return calls_; }
  SequenceDeque<Call>& calls() { return calls_; }

  // Forgets calls that ended before `at`; `on_drop(call, number)` sees each.
  template <typename OnDrop>
  void DropBefore(HostNs at, const OnDrop& on_drop) {
    while (!calls_.empty() && calls_.front().end < at) PopFront(on_drop);
    DropSamplesAndLosses(at);
  }
  // Keeps at most `limit` calls.
  template <typename OnDrop>
  void DropAbove(size_t limit, const OnDrop& on_drop) {
    while (calls_.size() > limit) {
      kept_since_ = calls_.front().end;
      PopFront(on_drop);
    }
  }

 private:
  template <typename OnDrop>
  void PopFront(const OnDrop& on_drop) {
    on_drop(calls_.front(), calls_.first());
    calls_.PopFront();
  }
  void DropSamplesAndLosses(HostNs at);

  SequenceDeque<Call> calls_;
  std::vector<ThreadSampleEvent> samples_;  // by time
  std::vector<TimeSpan> losses_;
  HostNs kept_since_ = INT64_MIN;
  mutable uint64_t near_ = 0;  // where the last search ended
};

}  // namespace stallscope
