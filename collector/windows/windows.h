// Sums of the last 1 s, 10 s, 60 s, 5 min and since the start, from one-second buckets. Memory is fixed.
//
// Written by: ProcessAnalysis as steps close. Read by: its Report. Single thread. A step belongs to the second in which
// it ended.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/base/event.h"
#include "collector/windows/window_sums.h"

namespace stallscope {

class Windows {
 public:
  static constexpr int64_t kBucketNs = 1'000'000'000;
  static constexpr int kBuckets = 301;  // 5 min and the second that is being filled

  // Where things that happened at `at` are added: the bucket (nullptr when it is older than all windows). Add to
  // total() too.
  WindowSums* BucketAt(HostNs at);
  WindowSums& total() { return total_; }
  const WindowSums& total() const { return total_; }

  // The whole seconds that cover (now - window_ns, now]; window_ns <= 0: since the start.
  WindowSums Sum(int64_t window_ns, HostNs now) const;

 private:
  struct Bucket {
    int64_t second = INT64_MIN;
    WindowSums sums;
  };
  std::vector<Bucket> buckets_ = std::vector<Bucket>(kBuckets);  // by second modulo kBuckets
  WindowSums total_;
};

}  // namespace stallscope
