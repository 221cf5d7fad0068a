// What a run of the reference story does, decided before it begins: how many of everything, and how long each takes.
//
// 411,272 cudaMemcpyAsync calls made 422,336 copies: so 11,064 copies came out of graphs, and no more, whatever a reader
// of the four tables concluded. Those are tiles; all other copies are made by calls.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_PLAN_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/workloads/story/ledger.h"
#include "tests/workloads/story/published.h"

namespace workloads {

struct Fixes {
  bool event_sync = false;   // wait for an event behind the tokens' copy, not for the device
  bool prezero = false;      // the key/value pool is zeroed once, not by fills in each step
  bool slice_graph = false;  // graphs and steps copy one tile a step, not the whole region
  bool handoff = false;      // the executor takes no lock that the scheduler holds while it plans
  bool pool = false;         // nothing is allocated in a step
};

// Sets what a comma-separated list names; false, with the word, at the first unknown one.
bool ParseFixes(const std::string& list, Fixes* fixes, std::string* unknown);

// `count` things spread evenly over `of` slots: how many fall on slot `index`.
inline uint64_t Share(uint64_t count, uint64_t of, uint64_t index) {
  return count * (index + 1) / of - count * index / of;
}

// Durations that are handed out one after the other.
class Supply {
 public:
  Supply() = default;
  explicit Supply(std::vector<uint64_t> values) : values_(std::move(values)) {}
  uint64_t size() const { return values_.size(); }
  uint64_t Take() { return next_ < values_.size() ? values_[next_++] : 0; }

 private:
  std::vector<uint64_t> values_;
  size_t next_ = 0;
};

// The kinds of graph there are: which of the rarer nodes each holds. Every graph has one GEMM and kFillsPerGraph fills.
inline constexpr unsigned kGraphHasTile = 1, kGraphHasGroupedGemm = 2, kGraphHasSilu = 4, kGraphHasRmsNorm = 8;
inline constexpr unsigned kGraphKinds = 16;
inline constexpr uint64_t kFillsPerGraph = 4;

struct Plan {
  Plan(double scale, const Fixes& fixes);

  double scale;
  Fixes fixes;
  uint64_t steps;
  uint64_t requests;
  std::vector<uint8_t> graphs;  // the kind of each graph launch of the run
  // Made by calls, over the run.
  std::array<uint64_t, kStoryKernels> direct_kernels;
  uint64_t direct_tiles, large_copies, small_copies, uploads, read_backs, memsets, stream_syncs, event_syncs, mallocs;

  std::array<Supply, kStoryKernels> kernel_ns;
  Supply tile_ns, large_ns, small_ns, upload_ns, read_back_ns, memset_ns;
  std::array<Ledger, static_cast<size_t>(ApiRow::kCount)> calls;

  // One line of JSON: the counts and totals that the four tables of this run must show.
  static std::string Expectation(double scale);
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_PLAN_H_
