// Copies and fills. Bytes move when the call is made; the simulated span says when the real device would have moved
// them, and the call blocks until then where the real one blocks.
#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

// Up to here the driver stages a pageable upload into the command buffer and returns at once.
constexpr uint64_t kStagedUploadBytes = 64 << 10;

CopyWork MakeCopy(void* destination, size_t destination_pitch, const void* source, size_t source_pitch, size_t width,
                  size_t rows) {
  const Memory& memory = Simulator::Get().memory();
  CopyWork copy;
  copy.destination = destination;
  copy.source = source;
  copy.width_bytes = width;
  copy.rows = rows;
  copy.destination_pitch = destination_pitch;
  copy.source_pitch = source_pitch;
  copy.destination_kind = memory.KindOf(destination);
  copy.source_kind = memory.KindOf(source);
  return copy;
}

// Whether an asynchronous copy keeps its caller until it is done.
bool AsyncBlocks(const CopyWork& copy) {
  const bool from_host = OnHost(copy.source_kind), to_host = OnHost(copy.destination_kind);
  if (from_host && to_host) return true;
  if (copy.destination_kind == MemoryKind::kPageable) return true;
  return copy.source_kind == MemoryKind::kPageable && copy.Bytes() > kStagedUploadBytes;
}

cudaError_t SubmitCopy(CopyWork copy, cudaStream_t handle, bool synchronous) {
  copy.asynchronous = !synchronous;
  if (copy.Bytes() == 0) return cudaSuccess;
  if (copy.destination == nullptr || copy.source == nullptr) return cudaErrorInvalidValue;
  Stream* stream = FindStream(handle);
  const bool capturing = stream->capture.load(std::memory_order_relaxed) != nullptr;
  if (capturing && synchronous) return cudaErrorStreamCaptureUnsupported;
  const Span span = Simulator::Get().Submit(stream, copy);
  const bool on_device = !OnHost(copy.source_kind) && !OnHost(copy.destination_kind);
  if (!capturing && (synchronous ? !on_device : AsyncBlocks(copy))) {
    Simulator::Get().BlockUntil(span.end_ns, DeviceWaitMode(CurrentOrdinal()), "copy");
  }
  return cudaSuccess;
}

cudaError_t SubmitFill(void* pointer, size_t pitch, int value, size_t width, size_t rows, cudaStream_t handle) {
  FillWork fill;
  fill.destination = pointer;
  fill.value = static_cast<uint8_t>(value);
  fill.width_bytes = width;
  fill.rows = rows;
  fill.pitch = pitch;
  if (fill.Bytes() == 0) return cudaSuccess;
  fill.kind = Simulator::Get().memory().KindOf(pointer);
  if (fill.kind == MemoryKind::kPageable) return cudaErrorInvalidValue;
  Simulator::Get().Submit(FindStream(handle), fill);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind) {
  return SubmitCopy(MakeCopy(destination, bytes, source, bytes, bytes, 1), nullptr, true);
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return SubmitCopy(MakeCopy(destination, bytes, source, bytes, bytes, 1), stream, false);
}

cudaError_t cudaMemcpyPeer(void* destination, int, const void* source, int, size_t bytes) {
  return runtime::cudaMemcpy(destination, source, bytes, cudaMemcpyDefault);
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int, const void* source, int, size_t bytes, cudaStream_t stream) {
  return runtime::cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind) {
  return SubmitCopy(MakeCopy(destination, destination_pitch, source, source_pitch, width, height), nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return SubmitCopy(MakeCopy(destination, destination_pitch, source, source_pitch, width, height), stream, false);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return SubmitFill(pointer, bytes, value, bytes, 1, nullptr);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return SubmitFill(pointer, bytes, value, bytes, 1, stream);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return SubmitFill(pointer, pitch, value, width, height, nullptr);
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return SubmitFill(pointer, pitch, value, width, height, stream);
}

}  // namespace simgpu::runtime
