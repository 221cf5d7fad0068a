// Histogram of durations with a relative error of at most 1 %, in fixed memory, mergeable by adding counts.
//
// A bucket covers [b, b * 1.02); its value is reported as the middle, so the error is at most 1 %. Values below 100 ns
// and above about 1000 s fall into the first and last bucket.
#pragma once

#include <cstdint>
#include <vector>

namespace stallscope {

class LogHistogram {
 public:
  void Add(int64_t value_ns, uint64_t count = 1);
  void Merge(const LogHistogram& other);
  void Clear();

  uint64_t count() const { return count_; }
  int64_t max() const { return max_; }
  // The value below which `quantile` (0 to 1) of the values lie; 0 when empty. Never above max().
  int64_t Quantile(double quantile) const;

 private:
  std::vector<uint32_t> buckets_;  // empty until the first Add
  uint64_t count_ = 0;
  int64_t max_ = 0;
};

}  // namespace stallscope
