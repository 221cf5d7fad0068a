#include "tests/simgpu/core/clock.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "tests/simgpu/core/given_timing.h"

namespace simgpu {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class RealClock final : public Clock {
 public:
  uint64_t NowNs() const override {
    if (thread_clock_ns != 0) return thread_clock_ns;
    return SharedNowNs();
  }

  uint64_t SharedNowNs() const override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
  }

  void WaitUntil(uint64_t deadline_ns, WaitMode mode) override {
    if (thread_clock_ns != 0) {
      thread_clock_ns = std::max(thread_clock_ns, deadline_ns);
      return;
    }
    while (NowNs() < deadline_ns) {
      switch (mode) {
        case WaitMode::kSpin:
          CpuRelax();
          break;
        case WaitMode::kYield:
          sched_yield();
          break;
        case WaitMode::kBlock: {
          timespec until{static_cast<time_t>(deadline_ns / kNsPerSecond),
                         static_cast<long>(deadline_ns % kNsPerSecond)};
          clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
          break;
        }
      }
    }
  }
};

}  // namespace

Clock& MonotonicClock() {
  static Clock* clock = new RealClock;  // leaked: programs call CUDA from exit handlers
  return *clock;
}

}  // namespace simgpu
