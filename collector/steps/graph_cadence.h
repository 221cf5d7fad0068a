// Segmentation B, the fall-back: the executable graph that is launched most is the forward pass, and each of its
// launches begins a step. With piecewise graphs each piece is launched once a step, so any of them serves. Nothing is
// known of tokens.
//
// Fed with graph launches in the order in which they ended. Single thread.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"
#include "collector/steps/told_steps.h"
#include "collector/timeline/call.h"

namespace stallscope {

class GraphCadence {
 public:
  // So many launches before anything is believed.
  static constexpr uint64_t kLearnLaunches = 64;

  bool OnGraphLaunch(ThreadIndex thread, const Call& call, Boundary* boundary) {
    if (counts_.size() > kMaxGraphs) counts_.clear();
    const uint64_t count = ++counts_[call.argument];
    ++launches_;
    // A graph that was not launched for a while was built anew under another handle.
    if (call.argument != main_ && (count > main_count_ || launches_ - main_seen_ > kLearnLaunches)) {
      main_ = call.argument;
      main_count_ = count;
    }
    if (call.argument != main_) return false;
    main_count_ = count;
    main_seen_ = launches_;
    *boundary = {call.begin, thread, 1, 0};
    return launches_ >= kLearnLaunches;
  }
  uint64_t launches() const { return launches_; }

 private:
  static constexpr size_t kMaxGraphs = 4096;

  absl::flat_hash_map<uint64_t, uint64_t> counts_;
  uint64_t main_ = 0, main_count_ = 0, main_seen_ = 0, launches_ = 0;
};

}  // namespace stallscope
