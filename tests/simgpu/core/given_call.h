// Host time that a program which plays a story gives to its CUDA calls, beside the device time of given_timing.h: how
// long the next call lasts, how long the nodes of the next graph launch take, and what came of it. Found by dlsym, like
// those.
//
// Everything here belongs to the calling thread. Times: CLOCK_MONOTONIC nanoseconds.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_GIVEN_CALL_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_GIVEN_CALL_H_

#include <cstddef>
#include <cstdint>

extern "C" {
// The next call of this thread that launches, copies, fills, allocates, registers or waits lasts this long instead of
// its modelled host time. A wait lasts at least this long and never ends before its work: the rest is over-wait.
void simgpu_next_call_duration(uint64_t duration_ns);
// The nodes of this thread's next graph launch take these times, in the order of capture; 0: as modelled. The array is
// read during that launch.
void simgpu_next_graph_durations(const uint64_t* durations_ns, size_t count);
// How long this thread's last call was inside the simulated library; 0 while nobody traces, and before the process first
// used this function or simgpu_next_call_duration.
uint64_t simgpu_last_call_duration(void);
// When everything enqueued so far on the current device will have ended.
uint64_t simgpu_device_end(void);
// 0: copies within the device take their time and move nothing, from here on and in all threads: for programs whose
// copies would take more of the host than it has.
void simgpu_copies_move(int move);
}

namespace simgpu {

// What this thread gave to its next call, or `modelled_ns`; the call after has the modelled time again.
uint64_t TakeCallDuration(uint64_t modelled_ns);
bool HasCallDuration();

struct GivenNodes {
  const uint64_t* durations_ns = nullptr;
  size_t count = 0;
  // 0: as modelled.
  uint64_t operator[](size_t node) const { return node < count ? durations_ns[node] : 0; }
};
GivenNodes TakeGivenNodes();

bool CopiesMove();

void NoteCallDuration(uint64_t duration_ns);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_GIVEN_CALL_H_
