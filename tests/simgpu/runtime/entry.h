// What the generated wrappers and the handwritten bodies of the simulated libcudart share.
//
// Bodies live in namespace simgpu::runtime under the names of the CUDA functions; the generated header runtime_impl.h
// declares all of them. Any thread, like the real library.
#ifndef STALLSCOPE_TESTS_SIMGPU_RUNTIME_ENTRY_H_
#define STALLSCOPE_TESTS_SIMGPU_RUNTIME_ENTRY_H_

#include <cuda_runtime_api.h>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/simulator.h"

namespace simgpu::runtime {

// Stores an error for cudaGetLastError and passes it on.
cudaError_t KeepFailure(cudaError_t error);
inline cudaError_t Keep(cudaError_t error) { return error == cudaSuccess ? error : KeepFailure(error); }

// Says the function's name once a process on stderr; cudaErrorNotSupported.
cudaError_t NotSupported(const char* function);

inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

inline bool ValidOrdinal(int ordinal) { return ordinal >= 0 && ordinal < Simulator::Get().device_count(); }

// What a call that a capture does not allow does to it: cudaErrorStreamCaptureUnsupported.
cudaError_t RefuseInCapture(Capture* capture);
// Whether the default stream may be used now: not while a stream that it waits for captures.
cudaError_t CheckLegacyStream(const Stream* stream);

inline Stream* FindStream(cudaStream_t handle) { return StreamOf(handle); }

// The kernel behind a host stub, a cudaKernel_t or a cudaFunction_t; null when unknown.
const Kernel* FindKernel(const void* function);
const char* KernelName(const void* function);
inline const char* KernelName(cudaKernel_t kernel) { return KernelName(reinterpret_cast<const void*>(kernel)); }

// Reports a blocking call to the tracer. `begin_ns` is zero when nobody traces.
uint64_t TraceBegin();
void TraceWait(WaitKind kind, Device* device, Stream* stream, const Event* event, uint64_t begin_ns);

}  // namespace simgpu::runtime

#endif  // STALLSCOPE_TESTS_SIMGPU_RUNTIME_ENTRY_H_
