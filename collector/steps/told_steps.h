// Steps that the program itself tells of: our marker call, and the entry points of engines whose calls are known
// (llama.cpp).
//
// Fed with range events in the order in which they ended. Single thread.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/base/event.h"

namespace stallscope {

// The moment at which tokens became visible, and how many since the last such moment.
struct Boundary {
  HostNs at = 0;
  ThreadIndex thread = 0;
  uint64_t tokens = 0;
  uint32_t copy_correlation = 0;
  bool operator==(const Boundary&) const = default;
};

// stallscope_step(tokens) was called: tokens were delivered at that moment.
class MarkerSteps {
 public:
  bool OnRange(const RangeEvent& range, Boundary* boundary) {
    if (range.kind != wire::RangeKind::kStepMarker) return false;
    *boundary = {range.end, range.thread, range.number, 0};
    return true;
  }
};

// An engine's decode call was entered after scores of tokens had been read: the step before it is over. Decode calls
// without reads in between (chunks of a prompt) belong to one step.
class EngineSteps {
 public:
  bool OnRange(const RangeEvent& range, Boundary* boundary) {
    if (range.kind == wire::RangeKind::kEngineToken) {
      ++tokens_read_;
      return false;
    }
    if (range.kind != wire::RangeKind::kEngineDecode || tokens_read_ == 0) return false;
    *boundary = {range.begin, range.thread, tokens_read_, 0};
    tokens_read_ = 0;
    return true;
  }
  // Since the last step.
  uint64_t tokens_read() const { return tokens_read_; }

 private:
  uint64_t tokens_read_ = 0;
};

}  // namespace stallscope
