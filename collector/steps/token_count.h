// How many tokens a read-back holds, from nothing but its size.
//
// Two things are read back: token ids (4 or 8 bytes a row) and, where the host samples (llama.cpp), whole rows of
// scores (4 bytes times the vocabulary). Which it is follows from the size; the unit is learned from the sizes seen for
// one token key. Known limits: with a batch that never changes its size, rows of 8 bytes cannot be told from twice as
// many rows of 4; rows that a scheduler discards are counted. docs/budget.md section 5.
#pragma once

#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace stallscope {

// From here on a read-back is taken for rows of scores, not ids: one row of a vocabulary of 2048, or 2048 ids of 4
// bytes (servers decode up to about a thousand sequences at once).
inline constexpr uint64_t kMinScoreBytes = 8 * 1024;

class TokenCount {
 public:
  explicit TokenCount(uint32_t vocabulary) : vocabulary_(vocabulary) {}

  // Learns from the sizes of one delivery's copies.
  void Learn(const std::vector<uint64_t>& copy_bytes);
  // Tokens of a delivery; 0 when the size says nothing.
  uint64_t Tokens(const std::vector<uint64_t>& copy_bytes) const;

 private:
  uint64_t IdBytes() const;

  uint32_t vocabulary_;
  std::set<uint64_t> id_sizes_;  // few: one for each batch size
  uint64_t id_unit_ = 0;         // greatest common divisor of the sizes of id read-backs
  uint64_t score_unit_ = 0;      // ... of score read-backs
};

}  // namespace stallscope
