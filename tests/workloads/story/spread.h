// Durations drawn so that their count, total, median, least and greatest agree with a published row.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_SPREAD_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_SPREAD_H_

#include <cstdint>
#include <vector>

namespace workloads {

struct Shape {
  uint64_t total_ns, median_ns, min_ns, max_ns;
};

// `count` durations in rising order: a power curve from the least to the median, and one from there to the greatest,
// steep enough that all sum to the total. Where so few cannot hold greatest and total both, the total wins.
std::vector<uint64_t> SortedSpread(uint64_t count, const Shape& shape);

// The same for ever, on every machine.
void Shuffle(std::vector<uint64_t>* values, uint64_t seed);

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_SPREAD_H_
