// Copies and fills. Bytes move when the call is made; the simulated span says when the real device would have moved
// them, and the call blocks until then where the real one blocks.
#include <optional>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/copies.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/nested_driver_call.h"

namespace simgpu::runtime {
namespace {

CopyWork Flat(void* destination, const void* source, size_t bytes) {
  return MakeCopy(destination, bytes, source, bytes, bytes, 1);
}

template <typename Parameters>
cudaError_t Submit3D(const Parameters* parameters, cudaStream_t stream, bool synchronous) {
  CopyWork copy;
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (!MakeCopy3D(*parameters, &copy)) return cudaErrorInvalidValue;
  return SubmitCopy(copy, stream, synchronous);
}

cudaError_t SubmitFill3D(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream) {
  for (size_t slice = 0; slice < extent.depth; ++slice) {
    void* begin = static_cast<char*>(pointer.ptr) + slice * pointer.pitch * pointer.ysize;
    const FillWork fill = MakeFill(begin, pointer.pitch, static_cast<unsigned>(value), 1, extent.width, extent.height);
    if (const cudaError_t error = SubmitFill(fill, stream); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind) {
  return SubmitCopy(Flat(destination, source, bytes), nullptr, true);
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return SubmitCopy(Flat(destination, source, bytes), stream, false);
}

cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source, int source_device,
                           size_t bytes) {
  if (!ValidOrdinal(destination_device) || !ValidOrdinal(source_device)) return cudaErrorInvalidDevice;
  return SubmitCopy(Flat(destination, source, bytes), nullptr, true);
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source, int source_device,
                                size_t bytes, cudaStream_t stream) {
  if (!ValidOrdinal(destination_device) || !ValidOrdinal(source_device)) return cudaErrorInvalidDevice;
  return SubmitCopy(Flat(destination, source, bytes), stream, false);
}

cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind) {
  if (width > destination_pitch || width > source_pitch) return cudaErrorInvalidPitchValue;
  return SubmitCopy(MakeCopy(destination, destination_pitch, source, source_pitch, width, height), nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  if (width > destination_pitch || width > source_pitch) return cudaErrorInvalidPitchValue;
  return SubmitCopy(MakeCopy(destination, destination_pitch, source, source_pitch, width, height), stream, false);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) { return Submit3D(parameters, nullptr, true); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return Submit3D(parameters, stream, false);
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) { return Submit3D(parameters, nullptr, true); }
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return Submit3D(parameters, stream, false);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemcpyBatchAsync(void* const* destinations, const void* const* sources, const size_t* sizes,
                                 size_t count, cudaMemcpyAttributes*, size_t*, size_t, cudaStream_t stream) {
#else
cudaError_t cudaMemcpyBatchAsync(void** destinations, void** sources, size_t* sizes, size_t count,
                                 cudaMemcpyAttributes*, size_t*, size_t, size_t* failed, cudaStream_t stream) {
#endif
  std::optional<NestedBatchCopy> nested;
  if (NestsDriverCall()) nested.emplace(destinations, sources, sizes, count, stream);
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error = SubmitCopy(Flat(destinations[i], sources[i], sizes[i]), stream, false);
    if (error == cudaSuccess) continue;
#if CUDART_VERSION < 13000
    if (failed != nullptr) *failed = i;
#endif
    return error;
  }
  return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations, unsigned long long,
                                   cudaStream_t stream) {
#else
cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations, size_t* failed, unsigned long long,
                                   cudaStream_t stream) {
#endif
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error = Submit3D(&operations[i], stream, false);
    if (error == cudaSuccess) continue;
#if CUDART_VERSION < 13000
    if (failed != nullptr) *failed = i;
#endif
    return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return SubmitFill(MakeFill(pointer, bytes, static_cast<unsigned>(value), 1, bytes, 1), nullptr);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return SubmitFill(MakeFill(pointer, bytes, static_cast<unsigned>(value), 1, bytes, 1), stream);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return SubmitFill(MakeFill(pointer, pitch, static_cast<unsigned>(value), 1, width, height), nullptr);
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return SubmitFill(MakeFill(pointer, pitch, static_cast<unsigned>(value), 1, width, height), stream);
}

cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return SubmitFill3D(pointer, value, extent, nullptr);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream) {
  return SubmitFill3D(pointer, value, extent, stream);
}

}  // namespace simgpu::runtime
