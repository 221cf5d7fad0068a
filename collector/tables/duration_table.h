// Named durations, summed as the nsys summary tables sum them: total, share, count, average, median, min, max,
// deviation.
//
// Every duration is kept (4 bytes each below 4.3 s), since a median of integers is exact only with all of them: meant
// for the offline tables, not for the live path. Single thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace stallscope {

// One printed row. Fractions are integers of tenths, rounded half up from exact arithmetic (what sqlite's round(x, 1)
// yields).
struct DurationRow {
  std::string key;
  int64_t share_tenths_percent = 0;  // of the total of all rows, never of the wall time
  int64_t total_ns = 0;
  uint64_t count = 0;
  int64_t average_tenths_ns = 0;
  int64_t median_tenths_ns = 0;
  int64_t min_ns = 0, max_ns = 0;
  int64_t deviation_tenths_ns = 0;  // of the sample (n - 1); 0 for a single value
};

enum class RowOrder {
  kTotal,                  // by total, largest first; equal totals in order of first sight
  kTotalThenCountAndName,  // equal totals: fewer instances first, then by name
};

class DurationTable {
 public:
  // The row of this key, made if new. Row numbers stay valid.
  size_t Row(std::string_view key);
  void Add(size_t row, int64_t duration_ns);
  void Add(std::string_view key, int64_t duration_ns) { Add(Row(key), duration_ns); }

  bool empty() const { return durations_ == 0; }

  // Rows that hold at least one duration.
  std::vector<DurationRow> Rows(RowOrder order) const;

 private:
  struct Durations {
    std::string key;
    std::vector<uint32_t> below_4s_ns;
    std::vector<int64_t> longer_ns;
  };
  static DurationRow Summarize(const Durations& durations, __int128 total_of_all_ns);

  absl::flat_hash_map<std::string, size_t> row_of_key_;
  std::vector<Durations> rows_;
  uint64_t durations_ = 0;
};

}  // namespace stallscope
