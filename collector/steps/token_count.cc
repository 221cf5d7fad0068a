#include "collector/steps/token_count.h"

#include <algorithm>

namespace stallscope {
namespace {

constexpr size_t kMaxSizes = 64;
// A row of scores has one value for each entry of a vocabulary; below this many bytes it is no vocabulary.
constexpr uint64_t kMinScoreRowBytes = 4 * 1024;
// So many sizes must have been seen, all multiples of 8, before a row of ids is believed to be 8 bytes.
constexpr size_t kSizesToBelieveWideIds = 3;

}  // namespace

void TokenCount::Learn(const std::vector<uint64_t>& copy_bytes) {
  if (copy_bytes.empty()) return;
  const uint64_t smallest = *std::min_element(copy_bytes.begin(), copy_bytes.end());
  const uint64_t largest = *std::max_element(copy_bytes.begin(), copy_bytes.end());
  if (largest >= kMinScoreBytes) {
    score_unit_ = std::gcd(score_unit_, largest);
    return;
  }
  if (smallest == 0) return;
  id_unit_ = std::gcd(id_unit_, smallest);
  if (id_sizes_.size() < kMaxSizes) id_sizes_.insert(smallest);
}

uint64_t TokenCount::IdBytes() const { return id_unit_ % 8 == 0 && id_sizes_.size() >= kSizesToBelieveWideIds ? 8 : 4; }

uint64_t TokenCount::Tokens(const std::vector<uint64_t>& copy_bytes) const {
  if (copy_bytes.empty()) return 0;
  if (vocabulary_ > 0) {
    const uint64_t row = uint64_t{4} * vocabulary_;
    for (const uint64_t bytes : copy_bytes) {
      if (bytes > 0 && bytes % row == 0) return bytes / row;
    }
  }
  const uint64_t largest = *std::max_element(copy_bytes.begin(), copy_bytes.end());
  if (largest >= kMinScoreBytes) {
    if (score_unit_ < kMinScoreRowBytes) return 0;
    return largest / score_unit_;
  }
  // Several read-backs at once: ids and, smaller or as large, how many of them count (vLLM's num_sampled, SGLang's
  // accept_lens).
  const uint64_t smallest = *std::min_element(copy_bytes.begin(), copy_bytes.end());
  return smallest < 4 ? 0 : std::max<uint64_t>(1, smallest / IdBytes());
}

}  // namespace stallscope
