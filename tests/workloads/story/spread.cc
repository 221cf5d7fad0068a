#include "tests/workloads/story/spread.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace workloads {
namespace {

constexpr double kLowerCurve = 0.5;

// Values [half, count): from the median up to `max_ns`.
double UpperSum(size_t values, double median_ns, double max_ns, double steepness) {
  double sum = 0;
  for (size_t i = 1; i <= values; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(values);
    sum += median_ns + (max_ns - median_ns) * std::pow(x, steepness);
  }
  return sum;
}

}  // namespace

std::vector<uint64_t> SortedSpread(uint64_t count, const Shape& shape) {
  if (count == 0) return {};
  if (count == 1) return {shape.total_ns};
  if (count == 2 && shape.min_ns + shape.max_ns <= shape.total_ns) return {shape.min_ns, shape.total_ns - shape.min_ns};
  const size_t lower = count / 2, upper = count - lower;
  const double total_ns = static_cast<double>(shape.total_ns), min_ns = static_cast<double>(shape.min_ns);
  double median_ns = static_cast<double>(shape.median_ns), max_ns = static_cast<double>(shape.max_ns);
  // A total too small for so few values around this median: they all shrink.
  median_ns = std::min(median_ns, total_ns / static_cast<double>(count));
  std::vector<uint64_t> values;
  values.reserve(count);
  double lower_sum = 0;
  for (size_t i = 0; i < lower; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(lower);
    const double value = std::max(1.0, min_ns + (median_ns - min_ns) * std::pow(x, kLowerCurve));
    values.push_back(static_cast<uint64_t>(value));
    lower_sum += value;
  }
  const double wanted = total_ns - lower_sum;
  const double rest_at_median = static_cast<double>(upper - 1) * median_ns;
  max_ns = std::max(median_ns, std::min(max_ns, wanted - rest_at_median));
  double low = -9, high = 7;  // logarithms of the steepness
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (UpperSum(upper, median_ns, max_ns, std::pow(10, middle)) > wanted ? low : high) = middle;
  }
  const double steepness = std::pow(10, (low + high) / 2);
  for (size_t i = 1; i <= upper; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(upper);
    values.push_back(static_cast<uint64_t>(median_ns + (max_ns - median_ns) * std::pow(x, steepness)));
  }
  return values;
}

void Shuffle(std::vector<uint64_t>* values, uint64_t seed) {
  std::mt19937_64 random(seed);  // std::shuffle is not the same in all libraries
  for (size_t i = values->size(); i > 1; --i) std::swap((*values)[i - 1], (*values)[random() % i]);
}

}  // namespace workloads
