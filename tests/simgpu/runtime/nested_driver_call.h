// The driver call inside a traced runtime call: the real runtime launches through cuLaunchKernel and cuGraphLaunch, and
// CUPTI's driver domain reports those with the runtime call's correlation id.
#ifndef STALLSCOPE_TESTS_SIMGPU_RUNTIME_NESTED_DRIVER_CALL_H_
#define STALLSCOPE_TESTS_SIMGPU_RUNTIME_NESTED_DRIVER_CALL_H_

#include <cuda_runtime_api.h>

#include "tests/simgpu/core/trace.h"
#include "tests/simgpu/core/work.h"

namespace simgpu::runtime {

inline constexpr uint32_t kDriverLaunchKernelCbid = 307;
inline constexpr uint32_t kDriverGraphLaunchCbid = 514;
#if CUDART_VERSION >= 13000
inline constexpr uint32_t kDriverBatchCopyCbid = 796;
inline constexpr const char* kDriverBatchCopyName = "cuMemcpyBatchAsync_v2";
#else
inline constexpr uint32_t kDriverBatchCopyCbid = 776;
inline constexpr const char* kDriverBatchCopyName = "cuMemcpyBatchAsync";
#endif

// Fields of cuLaunchKernel_params and cuGraphLaunch_params of the toolkit's generated_cuda_meta.h, which cannot be
// included together with the runtime's generated header.
struct LaunchKernelParams {
  const void* function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  cudaStream_t stream;
  void** kernel_params;
  void** extra;
};
struct GraphLaunchParams {
  cudaGraphExec_t exec;
  cudaStream_t stream;
};
struct BatchCopyParams {
  const void* destinations;
  const void* sources;
  const size_t* sizes;
  size_t count;
  void* attributes;
  size_t* attribute_indices;
  size_t attribute_count;
#if CUDART_VERSION < 13000
  size_t* failed;
#endif
  cudaStream_t stream;
};

// The same bodies serve the driver's own exports, which nest nothing.
inline bool NestsDriverCall() {
  if (Hooks() == nullptr) return false;
  const ApiCall* call = CurrentCall();
  return call == nullptr || call->domain == ApiDomain::kRuntime;
}

class NestedLaunch {
 public:
  NestedLaunch(const KernelWork& work, void** args, cudaStream_t stream)
      : params_{work.kernel,  work.grid.x,       work.grid.y, work.grid.z, work.block.x, work.block.y,
                work.block.z, work.shared_bytes, stream,      args,        nullptr},
        scope_(ApiDomain::kDriver, kDriverLaunchKernelCbid, "cuLaunchKernel", &params_, work.kernel->name.c_str()) {}

 private:
  const LaunchKernelParams params_;
  ApiScope scope_;
};

class NestedBatchCopy {
 public:
  NestedBatchCopy(const void* destinations, const void* sources, const size_t* sizes, size_t count, cudaStream_t stream)
      : params_{.destinations = destinations, .sources = sources, .sizes = sizes, .count = count, .stream = stream},
        scope_(ApiDomain::kDriver, kDriverBatchCopyCbid, kDriverBatchCopyName, &params_) {}

 private:
  const BatchCopyParams params_;
  ApiScope scope_;
};

class NestedGraphLaunch {
 public:
  NestedGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
      : params_{exec, stream}, scope_(ApiDomain::kDriver, kDriverGraphLaunchCbid, "cuGraphLaunch", &params_) {}

 private:
  const GraphLaunchParams params_;
  ApiScope scope_;
};

}  // namespace simgpu::runtime

#endif  // STALLSCOPE_TESTS_SIMGPU_RUNTIME_NESTED_DRIVER_CALL_H_
