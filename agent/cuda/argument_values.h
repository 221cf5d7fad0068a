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

// The width is in bytes for linear memory.
inline uint64_t Bytes3D(const cudaExtent& extent) { return uint64_t{extent.width} * extent.height * extent.depth; }
inline uint64_t Bytes3D(const cudaMemcpy3DParms* copy) { return copy == nullptr ? 0 : Bytes3D(copy->extent); }
inline uint64_t Bytes3D(const cudaMemcpy3DPeerParms* copy) { return copy == nullptr ? 0 : Bytes3D(copy->extent); }

// Of all copies of a batch. What a call that failed was given may not be there.
inline uint64_t BatchBytes(const size_t* sizes, size_t count, bool succeeded) {
  uint64_t bytes = 0;
  for (size_t i = 0; succeeded && i < count; ++i) bytes += sizes[i];
  return bytes;
}
inline uint64_t BatchBytes(const cudaMemcpy3DBatchOp* copies, size_t count, bool succeeded) {
  uint64_t bytes = 0;
  for (size_t i = 0; succeeded && i < count; ++i) bytes += Bytes3D(copies[i].extent);
  return bytes;
}

inline cudaMemcpyKind Kind3D(const cudaMemcpy3DParms* copy) { return copy == nullptr ? cudaMemcpyDefault : copy->kind; }

}  // namespace stallscope::agent
