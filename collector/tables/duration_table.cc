#include "collector/tables/duration_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stallscope {
namespace {

// numerator * 10 / denominator rounded half up; both not negative.
int64_t TenthsHalfUp(__int128 numerator, __int128 denominator) {
  if (denominator <= 0) return 0;
  return static_cast<int64_t>((numerator * 20 + denominator) / (denominator * 2));
}

}  // namespace

size_t DurationTable::Row(std::string_view key) {
  auto [it, inserted] = row_of_key_.try_emplace(std::string(key), rows_.size());
  if (inserted) {
    rows_.emplace_back();
    rows_.back().key = std::string(key);
  }
  return it->second;
}

void DurationTable::Add(size_t row, int64_t duration_ns) {
  const int64_t duration = std::max<int64_t>(duration_ns, 0);
  if (duration <= std::numeric_limits<uint32_t>::max()) {
    rows_[row].below_4s_ns.push_back(static_cast<uint32_t>(duration));
  } else {
    rows_[row].longer_ns.push_back(duration);
  }
  ++durations_;
}

DurationRow DurationTable::Summarize(const Durations& durations, __int128 total_of_all_ns) {
  // The two vectors hold disjoint ranges, so sorting each sorts all.
  std::vector<int64_t> sorted(durations.below_4s_ns.begin(), durations.below_4s_ns.end());
  sorted.insert(sorted.end(), durations.longer_ns.begin(), durations.longer_ns.end());
  std::sort(sorted.begin(), sorted.end());

  DurationRow row;
  row.key = durations.key;
  row.count = sorted.size();
  const size_t n = sorted.size();
  __int128 total = 0;
  for (int64_t value : sorted) total += value;
  row.total_ns = static_cast<int64_t>(total);
  row.min_ns = sorted.front();
  row.max_ns = sorted.back();
  row.share_tenths_percent = TenthsHalfUp(total * 100, total_of_all_ns);
  row.average_tenths_ns = TenthsHalfUp(total, static_cast<__int128>(n));
  const __int128 twice_median =
      n % 2 != 0 ? static_cast<__int128>(sorted[n / 2]) * 2 : static_cast<__int128>(sorted[n / 2 - 1]) + sorted[n / 2];
  row.median_tenths_ns = TenthsHalfUp(twice_median, 2);
  if (n > 1) {
    const long double mean = static_cast<long double>(total) / static_cast<long double>(n);
    long double squares = 0;
    for (int64_t value : sorted) {
      const long double distance = static_cast<long double>(value) - mean;
      squares += distance * distance;
    }
    const long double deviation = std::sqrt(squares / static_cast<long double>(n - 1));
    row.deviation_tenths_ns = static_cast<int64_t>(std::floor(deviation * 10 + 0.5L));
  }
  return row;
}

std::vector<DurationRow> DurationTable::Rows(RowOrder order) const {
  __int128 total_of_all_ns = 0;
  for (const Durations& durations : rows_) {
    for (uint32_t value : durations.below_4s_ns) total_of_all_ns += value;
    for (int64_t value : durations.longer_ns) total_of_all_ns += value;
  }
  std::vector<DurationRow> rows;
  for (const Durations& durations : rows_) {
    if (durations.below_4s_ns.empty() && durations.longer_ns.empty()) continue;
    rows.push_back(Summarize(durations, total_of_all_ns));
  }
  std::stable_sort(rows.begin(), rows.end(), [order](const DurationRow& a, const DurationRow& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    if (order == RowOrder::kTotal) return false;
    if (a.count != b.count) return a.count < b.count;
    return a.key < b.key;
  });
  return rows;
}

}  // namespace stallscope
