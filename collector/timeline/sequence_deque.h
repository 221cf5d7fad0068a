// A queue whose elements keep their number: the n-th element ever pushed is [n] until it is popped from the front.
// Ring buffer that grows by doubling. Single thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stallscope {

template <typename T>
class SequenceDeque {
 public:
  uint64_t first() const { return first_; }  // number of the oldest element kept
  uint64_t end() const { return end_; }      // number that the next element gets
  size_t size() const { return static_cast<size_t>(end_ - first_); }
  bool empty() const { return first_ == end_; }
  bool Contains(uint64_t number) const { return number >= first_ && number < end_; }

  T& operator[](uint64_t number) { return ring_[number & mask_]; }
  const T& operator[](uint64_t number) const { return ring_[number & mask_]; }
  T& front() { return (*this)[first_]; }
  const T& front() const { return (*this)[first_]; }
  T& back() { return (*this)[end_ - 1]; }
  const T& back() const { return (*this)[end_ - 1]; }

  uint64_t Push(T element) {
    if (size() == ring_.size()) Grow();
    ring_[end_ & mask_] = std::move(element);
    return end_++;
  }
  void PopFront() { ++first_; }
  // Numbers go on from where they are.
  void ReleaseMemoryIfEmpty() {
    if (!empty() || ring_.size() <= kKeptWhenEmpty) return;
    ring_ = std::vector<T>();
    mask_ = 0;
  }

 private:
  static constexpr size_t kKeptWhenEmpty = 1024;

  void Grow() {
    std::vector<T> larger(ring_.empty() ? 16 : ring_.size() * 2);
    const uint64_t larger_mask = larger.size() - 1;
    for (uint64_t i = first_; i != end_; ++i) larger[i & larger_mask] = std::move(ring_[i & mask_]);
    ring_ = std::move(larger);
    mask_ = larger_mask;
  }

  std::vector<T> ring_;
  uint64_t mask_ = 0;
  uint64_t first_ = 0;
  uint64_t end_ = 0;
};

}  // namespace stallscope
