// Who or what a line was charged to, in fixed memory: for each line the few causes with most time.
//
// A cause is a number (CauseKey); text is made of it only when a report is drawn. When more causes than slots meet in
// one line, the smallest gives way and its time is handed to the newcomer (space-saving), so a cause that holds more
// than a quarter of the line is never missed and its time is never under-stated.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "collector/base/line.h"

namespace stallscope {

// kind 60-63 | fields by kind.
enum class CauseKind : uint8_t {
  kNone = 0,
  kOsCall,            // call 32-47, thread 0-23
  kCudaCall,          // domain 48, call 32-47, thread 0-23
  kThread,            // thread 0-23: it ran its own code
  kWaker,             // waiter's call 32-47, waker 0-23: it was waited for
  kKernel,            // graph 32-59, name id 0-31
  kCopy,              // graph 40-59, bytes 0-39
  kWithinClockError,  // thread 0-23
  kCodeLoad,          // wire::CodeLoadKind 32-39, thread 0-23
};

using CauseKey = uint64_t;
constexpr CauseKey MakeCause(CauseKind kind, uint64_t high, uint64_t low) {
  const int low_bits = kind == CauseKind::kCopy ? 40 : 32;
  const uint64_t low_mask = (uint64_t{1} << low_bits) - 1;
  const uint64_t high_mask = (uint64_t{1} << (60 - low_bits)) - 1;
  return static_cast<uint64_t>(kind) << 60 | (high & high_mask) << low_bits | (low & low_mask);
}
constexpr CauseKind KindOf(CauseKey cause) { return static_cast<CauseKind>(cause >> 60); }
constexpr uint64_t HighOf(CauseKey cause) {
  const int low_bits = KindOf(cause) == CauseKind::kCopy ? 40 : 32;
  return (cause & ((uint64_t{1} << 60) - 1)) >> low_bits;
}
constexpr uint64_t LowOf(CauseKey cause) {
  const int low_bits = KindOf(cause) == CauseKind::kCopy ? 40 : 32;
  return cause & ((uint64_t{1} << low_bits) - 1);
}

struct Cause {
  CauseKey key = 0;
  int64_t ns = 0;
  uint64_t count = 0;
};

class CauseSketch {
 public:
  static constexpr int kSlots = 4;

  void Add(CauseKey key, int64_t ns, uint64_t count) {
    Cause* smallest = &causes_[0];
    for (Cause& cause : causes_) {
      if (cause.key == key) {
        cause.ns += ns;
        cause.count += count;
        return;
      }
      if (cause.ns < smallest->ns) smallest = &cause;
    }
    smallest->count = smallest->key == 0 ? count : smallest->count + count;
    smallest->key = key;
    smallest->ns += ns;
  }
  void Merge(const CauseSketch& other) {
    for (const Cause& cause : other.causes_) {
      if (cause.key != 0) Add(cause.key, cause.ns, cause.count);
    }
  }
  // Takes back what an earlier Merge brought, as far as it is still here.
  void Remove(const CauseSketch& other) {
    for (const Cause& gone : other.causes_) {
      for (Cause& cause : causes_) {
        if (gone.key == 0 || cause.key != gone.key) continue;
        cause.ns -= std::min(cause.ns, gone.ns);
        cause.count -= std::min(cause.count, gone.count);
      }
    }
  }
  // The cause with most time; key 0 when there is none.
  const Cause& Largest() const {
    return *std::max_element(causes_.begin(), causes_.end(),
                             [](const Cause& a, const Cause& b) { return a.ns < b.ns; });
  }

 private:
  std::array<Cause, kSlots> causes_{};
};

using LineNotes = std::array<CauseSketch, kLineCount>;

}  // namespace stallscope
