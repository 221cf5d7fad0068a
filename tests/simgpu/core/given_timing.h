// Timing that a program which plays a workload gives to the simulator, instead of leaving it to the model: how long its
// next operation takes, when it begins, and what time it is on the calling thread. Found by dlsym, so that such a
// program also loads where libsimgpu.so is not (on a real runtime, which decides for itself).
//
// Everything here belongs to the calling thread. Times: CLOCK_MONOTONIC nanoseconds.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_GIVEN_TIMING_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_GIVEN_TIMING_H_

#include <cstdint>

extern "C" {
// The next operation of this thread (kernel, copy, fill, also one that is captured) takes this long; 0: as modelled.
void simgpu_next_duration(uint64_t duration_ns);
// The next operation or graph of this thread begins at this moment, or later when its stream, the events it waits for or
// its launch are later; launch latency, stream gap and copy engines are taken to be in the given moment already. An
// operation that is captured: nanoseconds after the begin of its graph. A given begin counts once, for a call that fails
// as well as for one that succeeds.
void simgpu_next_begin(uint64_t begin_ns);
// From here on the simulator's clock stands still for this thread and moves only by what its calls simulate, beginning
// at this moment; 0: back to CLOCK_MONOTONIC. So a run does not depend on how loaded the machine is.
void simgpu_set_thread_clock(uint64_t now_ns);
uint64_t simgpu_thread_clock(void);  // 0: CLOCK_MONOTONIC
}

namespace simgpu {

struct GivenTiming {
  uint64_t duration_ns = 0;  // 0: as modelled
  uint64_t begin_ns = 0;
  bool has_begin = false;
};

// What this thread gave to its next operation; the one after has nothing.
GivenTiming TakeGivenTiming();

// The thread's own clock; 0: CLOCK_MONOTONIC.
extern thread_local uint64_t thread_clock_ns;

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_GIVEN_TIMING_H_
