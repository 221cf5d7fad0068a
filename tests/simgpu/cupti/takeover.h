// The fault `takeover`: after so many CUDA calls a profiler inside the program takes CUPTI's one set of buffer callbacks,
// registers a clock of its own, and after as many calls again switches the common kinds off and flushes, as
// torch.profiler does. It never gives anything back.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUPTI_TAKEOVER_H_
#define STALLSCOPE_TESTS_SIMGPU_CUPTI_TAKEOVER_H_

#include <cstdint>

namespace simgpu::cupti {

// At the end of each outermost CUDA call while the fault is on.
void TakeoverAfterCall();
// Buffers that came back to the intruder although the client lent them.
uint64_t BuffersLostToTakeover();

}  // namespace simgpu::cupti

#endif  // STALLSCOPE_TESTS_SIMGPU_CUPTI_TAKEOVER_H_
