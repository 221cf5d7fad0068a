// Time while a script is played: the simulator's timing functions, and each thread's clock.
//
// On the monotonic clock host time is really passed. On a clock of its own (tests/simgpu/core/given_timing.h) a thread's
// time moves only by what the script and the simulator say, so that a loaded machine changes nothing; threads take over
// each other's time where one waits for another. Any thread.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_CLOCK_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_CLOCK_H_

#include <cstdint>

namespace workloads::script {

struct PlayOptions {
  bool own_clock = false;
  bool fast = false;         // on its own clock: do not let the real one catch up
  bool given_begins = true;  // follow `at=`
  double scale = 1;          // of every time in the script
};

class PlayClock {
 public:
  explicit PlayClock(const PlayOptions& options);

  // False: this process does not run on the simulated GPU.
  bool available() const { return next_duration_ != nullptr; }

  // The script's time 0, from here on. Before: set-up, on the monotonic clock.
  void Begin();
  // For each playing thread, once begun.
  void BeginThread() const;
  uint64_t begin_ns() const { return begin_ns_; }

  uint64_t NowNs() const;  // this thread's
  void Work(uint64_t script_ns) const;
  void Sleep(uint64_t script_ns) const;
  // This thread waited for what another did at that moment.
  void AtLeast(uint64_t now_ns) const;
  // Lets the real clock follow this thread's own one, a little behind.
  void KeepPace() const;

  // Timing of this thread's next operation.
  void GiveDuration(uint64_t script_ns) const;
  void GiveCallDuration(uint64_t script_ns) const;  // of this thread's next call that takes host time
  void GiveBegin(uint64_t script_ns) const;         // after the script's begin
  void GiveBeginInGraph(uint64_t script_ns) const;  // after the graph's

 private:
  uint64_t Scaled(uint64_t script_ns) const;

  const PlayOptions options_;
  uint64_t begin_ns_ = 0;
  void (*next_duration_)(uint64_t) = nullptr;
  void (*next_begin_)(uint64_t) = nullptr;
  void (*next_call_duration_)(uint64_t) = nullptr;
  void (*set_thread_clock_)(uint64_t) = nullptr;
  uint64_t (*thread_clock_)() = nullptr;
};

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_CLOCK_H_
