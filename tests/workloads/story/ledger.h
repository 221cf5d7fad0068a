// Keeps a row's durations to its plan on a machine that is late: what one wait or call took too long, the next ones
// give up, so that the total comes out as planned. One thread at a time.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_LEDGER_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_LEDGER_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace workloads {

class Ledger {
 public:
  Ledger() = default;
  Ledger(std::vector<uint64_t> planned_ns, uint64_t least_ns)
      : planned_ns_(std::move(planned_ns)), least_ns_(least_ns) {}

  bool done() const { return next_ == planned_ns_.size(); }
  size_t left() const { return planned_ns_.size() - next_; }
  // How long the next one should take now; 0 past the plan.
  uint64_t Wanted() const {
    if (done()) return 0;
    return std::max(static_cast<int64_t>(least_ns_), static_cast<int64_t>(planned_ns_[next_]) - debt_ns_);
  }
  // As planned, whatever was late.
  uint64_t Planned() const { return done() ? 0 : planned_ns_[next_]; }
  void Took(uint64_t ns) {
    if (done()) return;
    debt_ns_ += static_cast<int64_t>(ns) - static_cast<int64_t>(planned_ns_[next_++]);
  }
  int64_t debt_ns() const { return debt_ns_; }

 private:
  std::vector<uint64_t> planned_ns_;
  uint64_t least_ns_ = 1;
  size_t next_ = 0;
  int64_t debt_ns_ = 0;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_LEDGER_H_
