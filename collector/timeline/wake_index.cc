#include "collector/timeline/wake_index.h"

#include <algorithm>

namespace stallscope {
namespace {

// A waker stamps its record before the waking call, so it is never later than the woken thread's return, but for the
// error of converting two processors' clocks.
constexpr int64_t kStampSlackNs = 500;
// Keeps one object that everybody signals from taking all memory.
constexpr size_t kMaxWakesOfObject = 1 << 16;

}  // namespace

void WakeIndex::Add(const WakeEvent& wake) { Insert(wake.object, {wake.at, wake.thread, wake.woken_tid, wake.call}); }

void WakeIndex::AddForeign(const WakeEvent& wake, uint32_t member, ThreadIndex there) {
  Insert(wake.object, {wake.at, wake.thread, wake.woken_tid, wake.call, true, member, there});
}

void WakeIndex::Insert(uint64_t object, const Wake& entry) {
  std::deque<Wake>& wakes = by_object_[object];
  auto position = wakes.end();
  while (position != wakes.begin() && std::prev(position)->at > entry.at) --position;
  wakes.insert(position, entry);
  if (wakes.size() > kMaxWakesOfObject) wakes.pop_front();
}

const WakeIndex::Wake* WakeIndex::Find(uint64_t object, HostNs begin, HostNs end, ThreadIndex waiter,
                                       uint32_t waiter_tid, bool first) const {
  const auto found = by_object_.find(object);
  if (found == by_object_.end()) return nullptr;
  const std::deque<Wake>& wakes = found->second;
  const auto fits = [&](const Wake& wake) {
    return wake.thread != waiter && (wake.woken_tid == 0 || waiter_tid == 0 || wake.woken_tid == waiter_tid);
  };
  const auto after_begin =
      std::lower_bound(wakes.begin(), wakes.end(), begin, [](const Wake& wake, HostNs at) { return wake.at < at; });
  const auto after_end =
      std::upper_bound(after_begin, wakes.end(), end, [](HostNs at, const Wake& wake) { return at < wake.at; });
  if (first) {
    const auto hit = std::find_if(after_begin, after_end, fits);
    if (hit != after_end) return &*hit;
  } else {
    for (auto it = after_end; it != after_begin;) {
      --it;
      if (fits(*it)) return &*it;
    }
  }
  for (auto it = after_end; it != wakes.end() && it->at <= end + kStampSlackNs; ++it) {
    if (fits(*it)) return &*it;
  }
  return nullptr;
}

void WakeIndex::DropBefore(HostNs at) {
  for (auto it = by_object_.begin(); it != by_object_.end();) {
    std::deque<Wake>& wakes = it->second;
    while (!wakes.empty() && wakes.front().at < at) wakes.pop_front();
    if (wakes.empty()) {
      by_object_.erase(it++);
    } else {
      ++it;
    }
  }
}

size_t WakeIndex::size() const {
  size_t count = 0;
  for (const auto& [object, wakes] : by_object_) count += wakes.size();
  return count;
}

}  // namespace stallscope
