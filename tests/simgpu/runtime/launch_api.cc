// Kernel launches. The kernel does nothing; its modelled time passes on the stream.
#include "runtime_impl.h"
#include "tests/simgpu/core/first_use.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/nested_driver_call.h"

namespace simgpu::runtime {
namespace {

Extent ToExtent(dim3 d) { return {d.x, d.y, d.z}; }

cudaError_t Launch(const Kernel* kernel, dim3 grid, dim3 block, void** args, size_t shared_bytes, cudaStream_t handle) {
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  if (ToExtent(grid).Count() == 0 || ToExtent(block).Count() == 0) return cudaErrorInvalidConfiguration;
  Stream* stream = FindStream(handle);
  if (const cudaError_t error = CheckLegacyStream(stream); error != cudaSuccess) return error;
  LoadAtFirstUse(kernel);
  KernelWork work;
  work.kernel = kernel;
  work.grid = ToExtent(grid);
  work.block = ToExtent(block);
  work.shared_bytes = static_cast<uint32_t>(shared_bytes);
  work.arguments = args;
  if (__builtin_expect(NestsDriverCall(), 0)) {
    NestedLaunch nested(work, args, handle);
    Simulator::Get().Submit(stream, work);
    return cudaSuccess;
  }
  Simulator::Get().Submit(stream, work);
  return cudaSuccess;
}

}  // namespace

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared_bytes,
                               cudaStream_t stream) {
  return Launch(reinterpret_cast<const Kernel*>(kernel), grid, block, args, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared_bytes,
                             cudaStream_t stream) {
  return Launch(FindKernel(function), grid, block, args, shared_bytes, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared_bytes,
                                        cudaStream_t stream) {
  return Launch(FindKernel(function), grid, block, args, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** args) {
  if (config == nullptr) return cudaErrorInvalidValue;
  return Launch(FindKernel(function), config->gridDim, config->blockDim, args, config->dynamicSmemBytes,
                config->stream);
}

}  // namespace simgpu::runtime
