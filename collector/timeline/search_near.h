// A binary search that begins where the last one ended: look-ups in time order stay within a few entries of each other.
//
// Single thread.
#pragma once

#include <cstdint>

namespace stallscope {

// The first number in [first, end) for which `before` is false, `end` when there is none; `before` must be true up to some
// number and false from there on. `near` is where to begin (any value).
template <typename Before>
uint64_t FirstNotBefore(uint64_t first, uint64_t end, uint64_t near, const Before& before) {
  if (first == end) return end;
  if (near < first) near = first;
  if (near >= end) near = end - 1;
  uint64_t low = first, high = end;  // the answer lies in [low, high]
  uint64_t step = 1;
  if (before(near)) {
    low = near + 1;
    while (end - low > step && before(low + step)) {
      low += step + 1;
      step *= 2;
    }
    if (end - low > step) high = low + step;
  } else {
    high = near;
    while (high - first > step && !before(high - step)) {
      high -= step;
      step *= 2;
    }
    if (high - first > step) low = high - step + 1;
  }
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace stallscope
