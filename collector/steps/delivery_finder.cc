#include "collector/steps/delivery_finder.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stallscope {
namespace {

// A graph stands for at least this many kernels when work is compared.
constexpr uint64_t kKernelsOfGraph = 64;
constexpr size_t kMaxKeys = 32;
constexpr size_t kRecent = 64;
// The token key is given up when so many deliveries with work have passed without it.
constexpr uint64_t kForgottenAfter = 64;
// Two keys whose work differs by less than this factor see the same work.
constexpr double kSimilar = 1.25;
// In a key whose tokens come from graphs, kernels alone are a forward pass (a prefill, a batch too large for the
// graphs) from here on.
constexpr uint64_t kForwardBesideGraphs = 8;  // times forward_kernel_threshold

double Weight(const WorkCount& work) { return static_cast<double>(work.graphs * kKernelsOfGraph + work.kernels); }

}  // namespace

int DeliveryFinder::KeyOf(const Delivery& delivery) {
  uint64_t bytes = 0;
  for (const ReadBack& copy : delivery.copies) bytes += copy.bytes;
  const bool blocking_copy =
      delivery.call_class == wire::CudaCallClass::kCopySync || delivery.call_class == wire::CudaCallClass::kCopyAsync;
  const Key key{blocking_copy, bytes >= kMinScoreBytes, delivery.copies.back().stream};
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].key == key) return static_cast<int>(i);
  }
  const KeyState fresh{key, {}, 0, 0, 0, 0, 0, UINT64_MAX, 0, TokenCount(vocabulary_)};
  if (keys_.size() < kMaxKeys) {
    keys_.push_back(fresh);
    return static_cast<int>(keys_.size() - 1);
  }
  // The key that has not been seen for longest makes room, but not the token's.
  int oldest = token_key_ == 0 ? 1 : 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (static_cast<int>(i) != token_key_ && keys_[i].last_seen < keys_[static_cast<size_t>(oldest)].last_seen) {
      oldest = static_cast<int>(i);
    }
  }
  keys_[static_cast<size_t>(oldest)] = fresh;
  return oldest;
}

void DeliveryFinder::OnDelivery(const Delivery& delivery) {
  ++deliveries_;
  if (first_delivery_ == INT64_MIN) first_delivery_ = delivery.at;
  Candidate candidate;
  candidate.key = KeyOf(delivery);
  KeyState& state = keys_[static_cast<size_t>(candidate.key)];
  candidate.boundary = {delivery.at, delivery.thread, 0, delivery.copies.back().correlation};
  candidate.own_work = delivery.closure.Since(state.last_closure);
  for (const ReadBack& copy : delivery.copies) candidate.copy_bytes.push_back(copy.bytes);
  WorkClock pair_closure = state.last_closure, stream_closure = state.last_closure;
  for (const KeyState& other : keys_) {
    if (other.key.stream != state.key.stream) continue;
    stream_closure.Join(other.last_closure);
    if (other.key.blocking_copy == state.key.blocking_copy) pair_closure.Join(other.last_closure);
  }
  candidate.pair_work = delivery.closure.Since(pair_closure);
  candidate.stream_work = delivery.closure.Since(stream_closure);
  const WorkCount first_work = delivery.closure.Since(last_closure_);
  state.last_closure.Join(delivery.closure);
  last_closure_.Join(delivery.closure);
  state.last_seen = deliveries_;
  state.tokens.Learn(candidate.copy_bytes);

  const bool brings_work = BringsWork(candidate.own_work);
  if (brings_work) {
    ++deliveries_with_work_;
    ++state.with_work;
    // Mean over the first few, then a running one that follows the program. The very first holds everything since the
    // start of the trace, so it gives way to the second.
    const double share = std::max(1.0 / static_cast<double>(std::max<uint64_t>(1, state.with_work - 1)), 1.0 / 16);
    state.mean_own_work += share * (Weight(candidate.own_work) - state.mean_own_work);
    state.mean_first_work += share * (Weight(first_work) - state.mean_first_work);
    if (candidate.own_work.graphs > 0) {
      ++state.with_graph;
      state.since_graph = 0;
    } else {
      if (state.since_graph != UINT64_MAX) ++state.since_graph;
      state.most_kernels = std::max(state.most_kernels - state.most_kernels / 64, candidate.own_work.kernels);
    }
  }
  if (!decided()) {
    held_.push_back(std::move(candidate));
    if (deliveries_with_work_ >= kLearnDeliveries) Decide();
    return;
  }
  if (candidate.key != token_key_ && brings_work &&
      (deliveries_ - last_token_delivery_ > kForgottenAfter ||
       ((state.with_work == 4 || state.with_work % kLearnDeliveries == 0) && BestKey() == candidate.key))) {
    // The program changed its ways, or the first few steps (warm-up) were not like the rest.
    token_key_ = candidate.key;
    recent_work_.clear();
  }
  Judge(candidate);
}

void DeliveryFinder::OnTime(HostNs now) {
  if (decided() || first_delivery_ == INT64_MIN || now - first_delivery_ < kLearnNs) return;
  if (deliveries_with_work_ >= 2) Decide();
}

void DeliveryFinder::Finish() {
  if (!decided()) Decide();
}

int DeliveryFinder::BestKey() const {
  int best = -1;
  for (size_t i = 0; i < keys_.size(); ++i) {
    const KeyState& state = keys_[i];
    if (state.with_work == 0) continue;
    if (best < 0) {
      best = static_cast<int>(i);
      continue;
    }
    const KeyState& leader = keys_[static_cast<size_t>(best)];
    const bool rare = state.with_work * 8 < leader.with_work, leader_rare = leader.with_work * 8 < state.with_work;
    const KeyState& frequent = rare ? leader : state;
    bool better = state.mean_own_work > leader.mean_own_work;
    if (rare != leader_rare && frequent.with_graph * 2 > frequent.with_work) {
      better = leader_rare;
    } else if ((state.with_work == 1) != (leader.with_work == 1)) {
      better = leader.with_work == 1;  // what came once is no cycle
    } else if (state.mean_own_work < leader.mean_own_work * kSimilar &&
               leader.mean_own_work < state.mean_own_work * kSimilar) {
      better = state.key.large != leader.key.large ? !state.key.large : state.mean_first_work > leader.mean_first_work;
    }
    if (better) best = static_cast<int>(i);
  }
  return best;
}

void DeliveryFinder::Decide() {
  token_key_ = BestKey();
  if (token_key_ < 0) return;
  std::vector<Candidate> held = std::exchange(held_, {});
  for (const Candidate& candidate : held) Judge(candidate);
}

bool DeliveryFinder::MidStep(const Candidate& candidate) const {
  if (candidate.own_work.graphs > 0) return false;
  const KeyState& state = keys_[static_cast<size_t>(candidate.key)];
  if (state.since_graph < kRecent) {
    return candidate.own_work.kernels < kForwardBesideGraphs * forward_kernels_;
  }
  return candidate.own_work.kernels * 4 < state.most_kernels;
}

double DeliveryFinder::UsualWork() const {
  if (recent_work_.empty()) return keys_[static_cast<size_t>(token_key_)].mean_own_work;
  std::vector<double> work(recent_work_.begin(), recent_work_.end());
  const auto middle = work.begin() + static_cast<ptrdiff_t>(work.size() / 2);
  std::nth_element(work.begin(), middle, work.end());
  return *middle;
}

bool DeliveryFinder::TokenInOtherSize(const Candidate& candidate) const {
  const Key& key = keys_[static_cast<size_t>(candidate.key)].key;
  const Key& token = keys_[static_cast<size_t>(token_key_)].key;
  return key.stream == token.stream && key.blocking_copy == token.blocking_copy && key.large != token.large &&
         BringsWork(candidate.pair_work) && Weight(candidate.pair_work) * 2 >= UsualWork();
}

bool DeliveryFinder::TokenInOtherWait(const Candidate& candidate) const {
  const Key& key = keys_[static_cast<size_t>(candidate.key)].key;
  const Key& token = keys_[static_cast<size_t>(token_key_)].key;
  return key.stream == token.stream && key.blocking_copy != token.blocking_copy && key.large == token.large &&
         candidate.copy_bytes == last_token_bytes_ && BringsWork(candidate.stream_work) &&
         Weight(candidate.stream_work) * 2 >= UsualWork();
}

void DeliveryFinder::Judge(const Candidate& candidate) {
  if (!BringsWork(candidate.own_work)) return;  // belongs to the delivery before
  const bool is_token_key = candidate.key == token_key_;
  const bool token = is_token_key ? !MidStep(candidate) : TokenInOtherSize(candidate) || TokenInOtherWait(candidate);
  if (!token) {
    ++mid_step_syncs_;
    const KeyState& token_key = keys_[static_cast<size_t>(token_key_)];
    const double weight = Weight(candidate.own_work);
    recent_ambiguous_.push_back(!is_token_key && weight * kSimilar > token_key.mean_own_work);
    if (recent_ambiguous_.size() > kRecent) recent_ambiguous_.pop_front();
    return;
  }
  last_token_delivery_ = deliveries_;
  if (is_token_key) last_token_bytes_ = candidate.copy_bytes;
  recent_ambiguous_.push_back(false);
  if (recent_ambiguous_.size() > kRecent) recent_ambiguous_.pop_front();
  const bool other_wait = !is_token_key && candidate.copy_bytes == last_token_bytes_;
  recent_work_.push_back(Weight(is_token_key ? candidate.own_work
                                : other_wait ? candidate.stream_work
                                             : candidate.pair_work));
  if (recent_work_.size() > kRecent) recent_work_.pop_front();
  Boundary boundary = candidate.boundary;
  boundary.tokens = keys_[static_cast<size_t>(candidate.key)].tokens.Tokens(candidate.copy_bytes);
  tokens_known_ = boundary.tokens > 0;
  if (boundary.tokens == 0) boundary.tokens = 1;
  boundaries_.push_back(boundary);
  ++boundary_count_;
}

std::vector<Boundary> DeliveryFinder::TakeBoundaries() { return std::exchange(boundaries_, {}); }

double DeliveryFinder::Regularity() const {
  if (recent_work_.size() < 2) return 0;
  const double usual = UsualWork();
  const auto like = std::count_if(recent_work_.begin(), recent_work_.end(),
                                  [usual](double w) { return std::abs(w - usual) <= usual / 4; });
  const auto ambiguous = std::count(recent_ambiguous_.begin(), recent_ambiguous_.end(), true);
  const double regular = static_cast<double>(like) / static_cast<double>(recent_work_.size());
  return regular * (1 - 0.5 * static_cast<double>(ambiguous) / static_cast<double>(recent_ambiguous_.size()));
}

}  // namespace stallscope
