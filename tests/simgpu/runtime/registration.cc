// What nvcc's start-up code calls: registration of kernels and variables, and the launch configuration stack.
#include <cstdlib>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/symbols.h"

namespace simgpu::runtime {
namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
// Between `<<<...>>>` and the stub's body. Depth one in practice; arguments may launch, so a small stack.
constexpr int kMaxPending = 16;
thread_local CallConfiguration pending[kMaxPending];
thread_local int pending_count = 0;

}  // namespace

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (pending_count == 0) return cudaErrorMissingConfiguration;
  const CallConfiguration& top = pending[--pending_count];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  const Kernel* found = Simulator::Get().kernels().FindByHostFunction(host_function);
  if (found == nullptr) return cudaErrorInvalidDeviceFunction;
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<Kernel*>(found));
  return cudaSuccess;
}

}  // namespace simgpu::runtime

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

SIMGPU_EXPORT void** __cudaRegisterFatBinary(void* fat_binary) {
  auto** handle = static_cast<void**>(std::malloc(sizeof(void*)));
  *handle = fat_binary;
  return handle;
}
SIMGPU_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
SIMGPU_EXPORT void __cudaUnregisterFatBinary(void** handle) { std::free(handle); }

SIMGPU_EXPORT void __cudaRegisterFunction(void**, const char* host_function, char*, const char* device_name, int,
                                          uint3*, uint3*, dim3*, dim3*, int*) {
  simgpu::Simulator::Get().kernels().Register(host_function, device_name);
}

SIMGPU_EXPORT void __cudaRegisterVar(void**, char* host_variable, char*, const char*, int, size_t bytes, int, int) {
  simgpu::runtime::RegisterSymbol(host_variable, bytes);
}
SIMGPU_EXPORT void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
SIMGPU_EXPORT void __cudaRegisterManagedVar(void**, void** host_address, char*, const char*, int, size_t bytes, int,
                                            int) {
  *host_address = simgpu::Simulator::Get().memory().AllocateManaged(bytes);
}
SIMGPU_EXPORT char __cudaInitModule(void**) { return 1; }
SIMGPU_EXPORT void __cudaRegisterUnifiedTable(void**, void*) {}

SIMGPU_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* stream) {
  using simgpu::runtime::pending;
  using simgpu::runtime::pending_count;
  if (pending_count == simgpu::runtime::kMaxPending) return 1;
  pending[pending_count++] = {grid, block, shared_bytes, static_cast<cudaStream_t>(stream)};
  return 0;
}
