// A clock that stands still until somebody waits on it or moves it: what tests of simulated durations run on.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_FAKE_CLOCK_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_FAKE_CLOCK_H_

#include <algorithm>

#include "tests/simgpu/core/clock.h"

namespace simgpu {

class FakeClock final : public Clock {
 public:
  explicit FakeClock(uint64_t now_ns) : now_ns_(now_ns) {}
  uint64_t NowNs() const override { return now_ns_; }
  void WaitUntil(uint64_t deadline_ns, WaitMode mode) override {
    now_ns_ = std::max(now_ns_, deadline_ns);
    last_mode_ = mode;
  }
  bool MovesByItself() const override { return false; }
  void Advance(uint64_t ns) { now_ns_ += ns; }
  WaitMode last_mode() const { return last_mode_; }

 private:
  uint64_t now_ns_;
  WaitMode last_mode_ = WaitMode::kSpin;
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_FAKE_CLOCK_H_
