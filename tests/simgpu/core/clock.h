// The simulation's clock: CLOCK_MONOTONIC nanoseconds. Everything in the simulated GPU reads time and waits through
// this interface, so that tests assert on simulated durations with a clock that they move themselves.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_CLOCK_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_CLOCK_H_

#include <cstdint>

namespace simgpu {

// How a blocking call passes its time, as the device or event flags say.
enum class WaitMode : uint8_t { kSpin, kYield, kBlock };

class Clock {
 public:
  virtual ~Clock() = default;
  virtual uint64_t NowNs() const = 0;
  // The same clock where a thread has one of its own (given_timing.h): what other clocks are compared with.
  virtual uint64_t SharedNowNs() const { return NowNs(); }
  // Returns at or after `deadline_ns`; at once if it has passed.
  virtual void WaitUntil(uint64_t deadline_ns, WaitMode mode) = 0;
  // False for a clock that only tests move.
  virtual bool MovesByItself() const { return true; }
};

// The clock of real runs. Any thread; never destroyed.
Clock& MonotonicClock();

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_CLOCK_H_
