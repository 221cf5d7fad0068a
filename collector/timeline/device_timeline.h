// What one device did: its operations by begin, whatever the order in which their records came.
//
// Written by: Timeline. Read by: budget. Single thread. Indices are valid until the next Add, Settle or DropBefore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/base/event.h"
#include "collector/base/line.h"

namespace stallscope {

struct GpuOp {
  HostNs begin = 0, end = 0;
  uint64_t argument = 0;            // bytes of copies and memsets
  HostNs launch_begin = INT64_MIN;  // of the launching call, as the next two; INT64_MIN: not known yet
  HostNs launch_end = INT64_MIN;
  ThreadIndex launch_thread = 0;
  uint32_t correlation = 0;
  uint32_t stream = 0;
  uint32_t graph = 0;
  StringId name = 0;
  wire::GpuOpKind kind = wire::GpuOpKind::kKernel;
  wire::CopyKind copy_kind = wire::CopyKind::kUnknown;
  Line line = Line::kGpuOther;
};

// Work that moves a forward pass on, in contrast to copies and fills.
constexpr bool IsForwardWork(const GpuOp& op) {
  return op.kind == wire::GpuOpKind::kKernel || op.kind == wire::GpuOpKind::kGraph;
}

class DeviceTimeline {
 public:
  void Add(const GpuOp& op) { ops_.push_back(op); }

  // Sorts what came since the last call. Call before reading.
  void Settle();

  // Operations by begin. Those before first_overlapping ended at or before the instant given to Seek.
  size_t size() const { return ops_.size() - first_; }
  const GpuOp& operator[](size_t index) const { return ops_[first_ + index]; }
  GpuOp& operator[](size_t index) { return ops_[first_ + index]; }

  // Index of the first operation that may end after `at`; `at` may only grow from call to call (late records move it
  // back), but for a Rewind.
  size_t Seek(HostNs at);
  void Rewind() { seek_ = first_; }
  // Index of the first operation that begins at or after `at`.
  size_t FirstBeginningAtOrAfter(HostNs at) const;
  // Index from which to look for operations that overlap an interval beginning at `at` (any order of calls). An
  // operation that runs longer than any seen in the last while is found too, since the longest duration is remembered.
  size_t FirstThatMayOverlap(HostNs at) const;

  template <typename OnDrop>
  void DropBefore(HostNs at, size_t keep_at_most, const OnDrop& on_drop) {
    Settle();
    while (first_ < ops_.size() && (ops_[first_].end < at || size() > keep_at_most)) on_drop(ops_[first_++]);
    // Moving the rest down now and then costs a fraction of doing it each time.
    if (first_ > ops_.size() / 2) EraseDropped();
  }

 private:
  void EraseDropped();

  std::vector<GpuOp> ops_;
  size_t first_ = 0;   // ops_[0, first_) are dropped
  size_t sorted_ = 0;  // ops_[first_, sorted_) are in order
  size_t seek_ = 0;    // position in ops_, as the two above
  int64_t longest_ns_ = 0;
  mutable uint64_t near_ = 0;  // position where the last search ended
};

}  // namespace stallscope
