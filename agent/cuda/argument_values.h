// Conversions used by the expressions of runtime_calls.h and driver_calls.h.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "agent/cuda/memory_calls.h"
#include "proto/wire/calls.h"

namespace stallscope::agent {

template <typename T>
inline uint64_t Value(T* handle) {
  return reinterpret_cast<uint64_t>(handle);
}
template <typename T>
requires std::is_integral_v<T>
inline uint64_t Value(T number) { return static_cast<uint64_t>(number); }

inline uint64_t Value(const MemoryArgument& memory) { return memory.bytes; }

inline wire::CopyKind Copy(int none) { return static_cast<wire::CopyKind>(none); }
inline wire::CopyKind Copy(wire::CopyKind kind) { return kind; }
inline wire::CopyKind Copy(cudaMemcpyKind kind) { return static_cast<wire::CopyKind>(kind); }

// The handle a call has written through its result pointer; nothing is read after a failure, when the memory is still
// the caller's.
template <typename T>
inline T Written(T* result, bool succeeded) {
  return result == nullptr || !succeeded ? T{} : *result;
}

// A program may pass nullptr where a structure is wanted; CUDA answers with an error, and so must we.
inline cudaStream_t LaunchStream(const cudaLaunchConfig_t* config) {
  return config == nullptr ? nullptr : config->stream;
}

inline uint64_t Bytes3D(const cudaMemcpy3DParms* copy) {
  if (copy == nullptr) return 0;
  return uint64_t{copy->extent.width} * copy->extent.height *
         copy->extent.depth;  // width is in bytes for linear memory
}

inline cudaMemcpyKind Kind3D(const cudaMemcpy3DParms* copy) { return copy == nullptr ? cudaMemcpyDefault : copy->kind; }

}  // namespace stallscope::agent
