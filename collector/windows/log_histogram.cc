#include "collector/windows/log_histogram.h"

#include <algorithm>
#include <cmath>

namespace stallscope {
namespace {

constexpr double kFirstNs = 100;
const double kLogStep = std::log(1.02);
constexpr int kBuckets = 1166;  // 100 ns * 1.02^1165 is about 1000 s

int BucketOf(int64_t value_ns) {
  if (value_ns <= kFirstNs) return 0;
  const int bucket = 1 + static_cast<int>(std::log(static_cast<double>(value_ns) / kFirstNs) / kLogStep);
  return std::min(bucket, kBuckets - 1);
}

// Half-way in the sense that both ends are off by the same factor.
double MiddleOf(int bucket) {
  if (bucket == 0) return kFirstNs / 2;
  return kFirstNs * std::exp((bucket - 0.5) * kLogStep);
}

}  // namespace

void LogHistogram::Add(int64_t value_ns, uint64_t count) {
  if (buckets_.empty()) buckets_.resize(kBuckets);
  buckets_[static_cast<size_t>(BucketOf(value_ns))] += static_cast<uint32_t>(count);
  count_ += count;
  max_ = std::max(max_, value_ns);
}

void LogHistogram::Merge(const LogHistogram& other) {
  if (other.buckets_.empty()) return;
  if (buckets_.empty()) buckets_.resize(kBuckets);
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

void LogHistogram::Clear() {
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = 0;
  max_ = 0;
}

int64_t LogHistogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  // The smallest value that is not below the asked share of all values (nearest rank).
  const double rank = std::ceil(quantile * static_cast<double>(count_));
  double seen = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[static_cast<size_t>(bucket)];
    if (seen >= rank && seen > 0) return std::min(max_, static_cast<int64_t>(std::llround(MiddleOf(bucket))));
  }
  return max_;
}

}  // namespace stallscope
