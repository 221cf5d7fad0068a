#include "collector/timeline/device_timeline.h"

#include <algorithm>

#include "collector/timeline/search_near.h"

namespace stallscope {
namespace {

bool Earlier(const GpuOp& a, const GpuOp& b) { return a.begin < b.begin; }

}  // namespace

void DeviceTimeline::Settle() {
  if (sorted_ == ops_.size()) return;
  const auto first = ops_.begin() + static_cast<ptrdiff_t>(first_);
  const auto fresh = ops_.begin() + static_cast<ptrdiff_t>(sorted_);
  for (auto it = fresh; it != ops_.end(); ++it) longest_ns_ = std::max(longest_ns_, it->end - it->begin);
  if (!std::is_sorted(fresh, ops_.end(), Earlier)) std::stable_sort(fresh, ops_.end(), Earlier);
  if (fresh != first && fresh->begin < std::prev(fresh)->begin) {
    const auto position = std::upper_bound(first, fresh, *fresh, Earlier);
    seek_ = std::min(seek_, static_cast<size_t>(position - ops_.begin()));
    std::inplace_merge(position, fresh, ops_.end(), Earlier);
  }
  sorted_ = ops_.size();
}

size_t DeviceTimeline::Seek(HostNs at) {
  seek_ = std::max(seek_, first_);
  while (seek_ < ops_.size() && ops_[seek_].end <= at) ++seek_;
  return seek_ - first_;
}

size_t DeviceTimeline::FirstBeginningAtOrAfter(HostNs at) const {
  near_ = FirstNotBefore(first_, ops_.size(), near_, [&](uint64_t index) { return ops_[index].begin < at; });
  return near_ - first_;
}

size_t DeviceTimeline::FirstThatMayOverlap(HostNs at) const { return FirstBeginningAtOrAfter(at - longest_ns_); }

void DeviceTimeline::EraseDropped() {
  ops_.erase(ops_.begin(), ops_.begin() + static_cast<ptrdiff_t>(first_));
  sorted_ -= first_;
  seek_ -= std::min(seek_, first_);
  near_ -= std::min<uint64_t>(near_, first_);
  first_ = 0;
  longest_ns_ = 0;  // one exceptional operation must not make every later look-up long
  for (const GpuOp& op : ops_) longest_ns_ = std::max(longest_ns_, op.end - op.begin);
}

}  // namespace stallscope
