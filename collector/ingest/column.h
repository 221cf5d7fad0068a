// A packed column as an array; absent means all zeros.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <initializer_list>

namespace stallscope::ingest {

template <typename T>
class Column {
 public:
  explicit Column(const google::protobuf::RepeatedField<T>& field) : values_(field.data()), size_(field.size()) {}
  T operator[](int row) const { return size_ == 0 ? T{} : values_[row]; }
  int size() const { return size_; }

 private:
  const T* values_;
  int size_;
};

// How many rows a group has; -1 when two of its present columns differ.
inline int RowCount(std::initializer_list<int> column_sizes) {
  int rows = 0;
  for (const int size : column_sizes) {
    if (size == 0) continue;
    if (rows != 0 && rows != size) return -1;
    rows = size;
  }
  return rows;
}

}  // namespace stallscope::ingest
