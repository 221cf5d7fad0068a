#include "collector/windows/windows.h"

#include <algorithm>

namespace stallscope {

WindowSums* Windows::BucketAt(HostNs at) {
  const int64_t second = std::max<int64_t>(at, 0) / kBucketNs;
  Bucket& bucket = buckets_[static_cast<size_t>(second % kBuckets)];
  if (bucket.second > second) return nullptr;
  if (bucket.second < second) {
    bucket.sums.Clear();
    bucket.second = second;
  }
  return &bucket.sums;
}

WindowSums Windows::Sum(int64_t window_ns, HostNs now) const {
  if (window_ns <= 0) return total_;
  WindowSums sum;
  // A bucket counts when its end lies in the window: the second being filled is in, the one cut by the far edge is in
  // only when the window is a whole number of seconds back from a full second.
  const int64_t last = std::max<int64_t>(now, 0) / kBucketNs;
  const int64_t seconds =
      std::min<int64_t>(std::max<int64_t>(1, (window_ns + kBucketNs / 2) / kBucketNs), kBuckets - 1);
  for (const Bucket& bucket : buckets_) {
    if (bucket.second > last - seconds - 1 && bucket.second <= last) sum.Merge(bucket.sums);
  }
  return sum;
}

}  // namespace stallscope
