// What the generated wrappers and the handwritten bodies of the simulated libcuda share.
//
// Bodies live in namespace simgpu::driver under the exported names of the functions (cuMemAlloc_v2); the generated header
// driver_impl.h declares all of them and is included first. Most stand on the runtime's bodies, which are compiled into
// this library as well: handles are the same objects and errors have the same numbers. Any thread.
#ifndef STALLSCOPE_TESTS_SIMGPU_DRIVER_ENTRY_H_
#define STALLSCOPE_TESTS_SIMGPU_DRIVER_ENTRY_H_

#include <cuda_runtime_api.h>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu::driver {

inline CUresult Keep(CUresult result) { return result; }
inline CUresult AsResult(cudaError_t error) { return static_cast<CUresult>(error); }

// Says the function's name once a process on stderr; CUDA_ERROR_NOT_SUPPORTED.
CUresult NotSupported(const char* function);

// The name of a launched function, for a tracer; null when it is none.
const char* KernelName(CUfunction function);

inline bool ValidOrdinal(int ordinal) { return ordinal >= 0 && ordinal < Simulator::Get().device_count(); }
inline void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace simgpu::driver

#endif  // STALLSCOPE_TESTS_SIMGPU_DRIVER_ENTRY_H_
