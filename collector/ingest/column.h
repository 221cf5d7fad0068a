// A packed column as an array. Absent means all zeros; one value in a group of several rows means that value in every
// row.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <initializer_list>

namespace stallscope::ingest {

template <typename T>
class Column {
 public:
  explicit Column(const google::protobuf::RepeatedField<T>& field)
      : values_(field.empty() ? &kZero : field.data()), mask_(field.size() > 1 ? ~0 : 0), size_(field.size()) {}
  // Both short forms without a branch: every row is the only value there is.
  T operator[](int row) const { return values_[row & mask_]; }
  int size() const { return size_; }

 private:
  static constexpr T kZero{};
  const T* values_;
  int mask_;
  int size_;
};

// How many rows a group has; -1 when its columns do not fit together.
inline int RowCount(std::initializer_list<int> column_sizes) {
  const int rows = std::max(column_sizes);
  for (const int size : column_sizes) {
    if (size > 1 && size != rows) return -1;
  }
  return rows;
}

}  // namespace stallscope::ingest
