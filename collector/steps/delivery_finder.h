// Segmentation A: which of the read-backs is the token (docs/budget.md section 5).
//
// Deliveries are grouped by key: how the copy was waited for, on which stream, small (ids) or large (scores). For each
// key the new forward work is measured from its own last delivery to the next. The token is the key with most: it comes
// once a cycle, so all of the cycle's work lies between two of its deliveries, while what comes several times a cycle
// sees a part. Keys with equal work (several read-backs at the end of each step) are told apart by who comes first
// after the work. Small keys go before large ones of similar work: large copies may be swapped-out caches. A key whose
// deliveries each hold a graph is a whole step already: what comes more rarely is a read-out of statistics. Within the
// token key, a delivery with little new work is a read-back in mid-step, and one with none belongs to the delivery
// before.
//
// The first kLearnDeliveries (or kLearnNs) are held until the keys can be compared; then they are judged like those
// that follow. Single thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "collector/steps/stream_tracker.h"
#include "collector/steps/token_count.h"
#include "collector/steps/told_steps.h"

namespace stallscope {

class DeliveryFinder {
 public:
  DeliveryFinder(uint32_t vocabulary, int forward_kernel_threshold)
      : vocabulary_(vocabulary), forward_kernels_(static_cast<uint64_t>(forward_kernel_threshold)) {}

  static constexpr size_t kLearnDeliveries = 16;
  static constexpr int64_t kLearnNs = 2'000'000'000;

  void OnDelivery(const Delivery& delivery);
  // Time goes on without a delivery: the learning time may be over.
  void OnTime(HostNs now);
  // Decides with what there is.
  void Finish();

  // Token deliveries since the last call, in order.
  std::vector<Boundary> TakeBoundaries();

  bool decided() const { return token_key_ >= 0; }
  // When the first of the deliveries came that are held until it is decided; INT64_MIN: none is held.
  HostNs learning_since() const { return held_.empty() ? INT64_MIN : held_.front().boundary.at; }
  uint64_t deliveries() const { return deliveries_; }
  uint64_t deliveries_with_work() const { return deliveries_with_work_; }
  uint64_t boundaries() const { return boundary_count_; }
  uint64_t mid_step_syncs() const { return mid_step_syncs_; }
  bool counts_tokens() const { return tokens_known_; }
  // How alike the token deliveries are, 0 to 1: the share whose forward work is within a quarter of the usual, less
  // half the share of read-backs that might have been the token as well.
  double Regularity() const;

 private:
  struct Key {
    bool blocking_copy = false, large = false;
    uint32_t stream = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyState {
    Key key;
    WorkClock last_closure;
    uint64_t with_work = 0;             // deliveries that brought new forward work
    uint64_t with_graph = 0;            // ... and a graph launch among it
    double mean_own_work = 0;           // since the key's own last delivery
    double mean_first_work = 0;         // since any key's last delivery
    uint64_t most_kernels = 0;          // of late, in deliveries without a graph
    uint64_t since_graph = UINT64_MAX;  // deliveries with work since one with a graph
    uint64_t last_seen = 0;             // number of the delivery
    TokenCount tokens;
  };
  struct Candidate {
    Boundary boundary;
    int key = 0;
    WorkCount own_work;     // since the key's last delivery
    WorkCount pair_work;    // since the last delivery of the stream, small or large
    WorkCount stream_work;  // since the last delivery of the stream, also of the other kind of wait
    std::vector<uint64_t> copy_bytes;
  };

  int KeyOf(const Delivery& delivery);
  bool BringsWork(const WorkCount& work) const { return work.graphs > 0 || work.kernels >= forward_kernels_; }
  void Decide();
  int BestKey() const;
  void Judge(const Candidate& candidate);
  bool MidStep(const Candidate& candidate) const;
  // The token key in another size: rows of scores of a smaller or larger batch.
  bool TokenInOtherSize(const Candidate& candidate) const;
  // The token's own copy, waited for in the other way: a copy to pageable memory that was done before its call could
  // wait is read after a wait for its stream or event.
  bool TokenInOtherWait(const Candidate& candidate) const;
  double UsualWork() const;

  const uint32_t vocabulary_;
  const uint64_t forward_kernels_;
  std::vector<KeyState> keys_;
  WorkClock last_closure_;  // of the last delivery of any key
  int token_key_ = -1;
  std::vector<Candidate> held_;  // while learning
  HostNs first_delivery_ = INT64_MIN;
  std::vector<Boundary> boundaries_;
  uint64_t deliveries_ = 0, deliveries_with_work_ = 0, boundary_count_ = 0, mid_step_syncs_ = 0;
  uint64_t last_token_delivery_ = 0;  // number of the delivery
  std::vector<uint64_t> last_token_bytes_;
  bool tokens_known_ = false;
  std::deque<double> recent_work_;     // of token deliveries
  std::deque<bool> recent_ambiguous_;  // of deliveries with work: was it another key of similar work
};

}  // namespace stallscope
