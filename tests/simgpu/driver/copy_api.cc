// Copies and fills.
#include "driver_impl.h"
#include "runtime_impl.h"
#include "tests/simgpu/driver/entry.h"
#include "tests/simgpu/runtime/copies.h"

namespace simgpu::driver {
namespace {

using runtime::MakeCopy;
using runtime::MakeFill;

CUresult Flat(void* destination, const void* source, size_t bytes, CUstream stream, bool synchronous) {
  return AsResult(runtime::SubmitCopy(MakeCopy(destination, bytes, source, bytes, bytes, 1), stream, synchronous));
}

CUresult Rows(const CUDA_MEMCPY2D* copy, CUstream stream, bool synchronous) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY || copy->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    return NotSupported("a copy of arrays");
  }
  const bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
  const auto* source = static_cast<const char*>(from_host ? copy->srcHost : Pointer(copy->srcDevice));
  auto* destination = static_cast<char*>(to_host ? copy->dstHost : Pointer(copy->dstDevice));
  return AsResult(runtime::SubmitCopy(MakeCopy(destination + copy->dstY * copy->dstPitch + copy->dstXInBytes,
                                               copy->dstPitch, source + copy->srcY * copy->srcPitch + copy->srcXInBytes,
                                               copy->srcPitch, copy->WidthInBytes, copy->Height),
                                      stream, synchronous));
}

template <unsigned kBytes>
CUresult Fill(CUdeviceptr address, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream) {
  return AsResult(
      runtime::SubmitFill(MakeFill(Pointer(address), pitch, value, kBytes, width * kBytes, height), stream));
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return Flat(Pointer(destination), Pointer(source), bytes, nullptr, true);
}
CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return Flat(Pointer(destination), Pointer(source), bytes, stream, false);
}
CUresult cuMemcpyPeer(CUdeviceptr destination, CUcontext, CUdeviceptr source, CUcontext, size_t bytes) {
  return Flat(Pointer(destination), Pointer(source), bytes, nullptr, true);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext, CUdeviceptr source, CUcontext, size_t bytes,
                           CUstream stream) {
  return Flat(Pointer(destination), Pointer(source), bytes, stream, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes) {
  return Flat(Pointer(destination), source, bytes, nullptr, true);
}
CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t bytes) {
  return Flat(destination, Pointer(source), bytes, nullptr, true);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return Flat(Pointer(destination), Pointer(source), bytes, nullptr, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream) {
  return Flat(Pointer(destination), source, bytes, stream, false);
}
CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return Flat(destination, Pointer(source), bytes, stream, false);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return Flat(Pointer(destination), Pointer(source), bytes, stream, false);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return Rows(copy, nullptr, true); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return Rows(copy, nullptr, true); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) { return Rows(copy, stream, false); }

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) {
  return Fill<1>(address, count, value, count, 1, nullptr);
}
CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t count) {
  return Fill<2>(address, count * 2, value, count, 1, nullptr);
}
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned int value, size_t count) {
  return Fill<4>(address, count * 4, value, count, 1, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  return Fill<1>(address, count, value, count, 1, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream) {
  return Fill<2>(address, count * 2, value, count, 1, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned int value, size_t count, CUstream stream) {
  return Fill<4>(address, count * 4, value, count, 1, stream);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height) {
  return Fill<1>(address, pitch, value, width, height, nullptr);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr address, size_t pitch, unsigned int value, size_t width, size_t height) {
  return Fill<4>(address, pitch, value, width, height, nullptr);
}
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return Fill<1>(address, pitch, value, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned int value, size_t width, size_t height,
                            CUstream stream) {
  return Fill<4>(address, pitch, value, width, height, stream);
}

}  // namespace simgpu::driver
