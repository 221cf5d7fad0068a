// What a thread is working with: its current device and the streams behind the CUDA handles. Shared by the runtime, the
// driver and the library drop-ins.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_CURRENT_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_CURRENT_H_

#include "tests/simgpu/core/simulator.h"

namespace simgpu {

int CurrentOrdinal();
void SetCurrentOrdinal(int ordinal);
Device* CurrentDevice();

// How blocking calls on a device wait (cudaSetDeviceFlags).
WaitMode DeviceWaitMode(int ordinal);
unsigned DeviceFlags(int ordinal);
void SetDeviceFlags(int ordinal, unsigned flags);

// While one lives on this thread, the null stream means the thread's own: the _ptsz and _ptds variants.
class PerThreadDefaultScope {
 public:
  PerThreadDefaultScope();
  PerThreadDefaultScope(const PerThreadDefaultScope&) = delete;
  PerThreadDefaultScope& operator=(const PerThreadDefaultScope&) = delete;
  ~PerThreadDefaultScope();

 private:
  const bool outer_;
};

// The stream behind a cudaStream_t or CUstream: null and 1 are the legacy default stream, 2 is the thread's own.
Stream* StreamOf(const void* handle);

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_CURRENT_H_
