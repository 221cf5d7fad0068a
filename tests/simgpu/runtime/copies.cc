#include "tests/simgpu/runtime/copies.h"

#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

// Up to here the driver stages a pageable upload into the command buffer and returns at once.
constexpr uint64_t kStagedUploadBytes = 64 << 10;

// Whether an asynchronous copy keeps its caller until it is done.
bool AsyncBlocks(const CopyWork& copy) {
  const bool from_host = OnHost(copy.source_kind), to_host = OnHost(copy.destination_kind);
  if (from_host && to_host) return true;
  if (copy.destination_kind == MemoryKind::kPageable) return true;
  return copy.source_kind == MemoryKind::kPageable && copy.Bytes() > kStagedUploadBytes;
}

char* At(cudaPitchedPtr base, cudaPos position) {
  return static_cast<char*>(base.ptr) + position.x + base.pitch * (position.y + base.ysize * position.z);
}

bool Fill3D(cudaPitchedPtr source, cudaPos source_position, cudaPitchedPtr destination, cudaPos destination_position,
            cudaExtent extent, CopyWork* copy) {
  if (source.ptr == nullptr || destination.ptr == nullptr) return false;
  *copy = MakeCopy(At(destination, destination_position), destination.pitch, At(source, source_position), source.pitch,
                   extent.width, extent.height);
  copy->slices = extent.depth;
  copy->destination_slice_pitch = destination.pitch * destination.ysize;
  copy->source_slice_pitch = source.pitch * source.ysize;
  return true;
}

}  // namespace

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
  if (Simulator::Get().device_count() > 1) {
    copy.destination_device = memory.DeviceOf(destination);
    copy.source_device = memory.DeviceOf(source);
  }
  return copy;
}

bool MakeCopy3D(const cudaMemcpy3DParms& p, CopyWork* copy) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return false;
  return Fill3D(p.srcPtr, p.srcPos, p.dstPtr, p.dstPos, p.extent, copy);
}

bool MakeCopy3D(const cudaMemcpy3DPeerParms& p, CopyWork* copy) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return false;
  return Fill3D(p.srcPtr, p.srcPos, p.dstPtr, p.dstPos, p.extent, copy);
}

bool MakeCopy3D(const cudaMemcpy3DBatchOp& operation, CopyWork* copy) {
  const cudaExtent& extent = operation.extent;
  const auto pitched = [&extent](const cudaMemcpy3DOperand& operand) {
    cudaPitchedPtr pointer = {};
    if (operand.type != cudaMemcpyOperandTypePointer) return pointer;  // an array
    pointer.ptr = operand.op.ptr.ptr;
    pointer.pitch = operand.op.ptr.rowLength != 0 ? operand.op.ptr.rowLength : extent.width;
    pointer.ysize = operand.op.ptr.layerHeight != 0 ? operand.op.ptr.layerHeight : extent.height;
    return pointer;
  };
  return Fill3D(pitched(operation.src), {}, pitched(operation.dst), {}, extent, copy);
}

FillWork MakeFill(void* pointer, size_t pitch, unsigned value, unsigned element_bytes, size_t width, size_t rows) {
  FillWork fill;
  fill.destination = pointer;
  fill.value = element_bytes == 1 ? value & 0xff : value;
  fill.element_bytes = element_bytes;
  fill.width_bytes = width;
  fill.rows = rows;
  fill.pitch = pitch;
  fill.kind = Simulator::Get().memory().KindOf(pointer);
  return fill;
}

cudaError_t SubmitCopy(CopyWork copy, cudaStream_t handle, bool synchronous) {
  copy.asynchronous = !synchronous;
  if (copy.Bytes() == 0) return cudaSuccess;
  if (copy.destination == nullptr || copy.source == nullptr) return cudaErrorInvalidValue;
  Stream* stream = FindStream(handle);
  Capture* capture = stream->capture.load(std::memory_order_relaxed);
  if (capture != nullptr && synchronous) return RefuseInCapture(capture);
  if (const cudaError_t error = CheckLegacyStream(stream); error != cudaSuccess) return error;
  Simulator& simulator = Simulator::Get();
  const Span span = simulator.Submit(stream, copy);
  const bool on_device = !OnHost(copy.source_kind) && !OnHost(copy.destination_kind);
  if (capture == nullptr && (synchronous ? !on_device : AsyncBlocks(copy))) {
    simulator.BlockUntil(span.end_ns, DeviceWaitMode(stream->device()->ordinal()), "copy",
                         {stream->device()->ordinal(), stream->id()});
    simulator.WaitForHostTasks(stream);
  }
  return cudaSuccess;
}

cudaError_t SubmitFill(FillWork fill, cudaStream_t handle) {
  if (fill.Bytes() == 0) return cudaSuccess;
  if (fill.kind == MemoryKind::kPageable) return cudaErrorInvalidValue;
  Stream* stream = FindStream(handle);
  if (const cudaError_t error = CheckLegacyStream(stream); error != cudaSuccess) return error;
  Simulator::Get().Submit(stream, fill);
  return cudaSuccess;
}

}  // namespace simgpu::runtime
