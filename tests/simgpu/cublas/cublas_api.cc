// libcublas.so.13: matrix products become kernels named like the real ones; the numbers they would compute are not
// computed. cuBLAS's headers are not needed: the functions are declared here by their C ABI.
//
// Real cuBLAS embeds a static CUDA runtime, so its launches reach CUPTI but not an interposed libcudart. Here likewise:
// a launch is reported as cudaLaunchKernel to the tracer and calls no exported function.
#include <cuda_runtime_api.h>
#include <generated_cuda_runtime_api_meta.h>
#include <library_types.h>

#include "tests/simgpu/core/current.h"
#include "tests/simgpu/core/simulator.h"

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using simgpu::Simulator;

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 7;
constexpr int kNotInitialized = 1;

struct Handle {
  cudaStream_t stream = nullptr;
};

// Tile of the products' kernels, for their grids.
constexpr unsigned kTileRows = 128, kTileColumns = 64;

constexpr char kHalfGemm[] = "nvjet_hsh_128x64_64x6_2x1_v_bz_coopB_TNT";
constexpr char kSingleGemm[] = "cutlass_80_simt_sgemm_128x64_8x5_tn_align1";
constexpr char kSingleTrsm[] = "_ZN8cublas_trsm_batch_left_lower_kernelIfLi256ELi4EEEv";

unsigned Tiles(int size, unsigned tile) { return (static_cast<unsigned>(size) + tile - 1) / tile; }

int Launch(void* handle, const char* kernel_name, int m, int n, int batch) {
  if (handle == nullptr) return kNotInitialized;
  if (m < 0 || n < 0 || batch < 0) return kInvalidValue;
  if (m == 0 || n == 0 || batch == 0) return kSuccess;
  const cudaStream_t stream = static_cast<Handle*>(handle)->stream;
  simgpu::KernelWork work;
  work.kernel = Simulator::Get().kernels().Named(kernel_name);
  work.grid = {Tiles(m, kTileRows), Tiles(n, kTileColumns), static_cast<unsigned>(batch)};
  work.block = {384, 1, 1};
  if (simgpu::Hooks() != nullptr) {
    constexpr uint32_t kLaunchKernelCbid = 211;
    const cudaLaunchKernel_v7000_params params{
        work.kernel, {work.grid.x, work.grid.y, work.grid.z}, {384, 1, 1}, nullptr, 0, stream};
    simgpu::ApiScope api_scope(simgpu::ApiDomain::kRuntime, kLaunchKernelCbid, "cudaLaunchKernel_v7000", &params,
                               kernel_name);
    Simulator::Get().Submit(simgpu::StreamOf(stream), work);
    return api_scope.Return(kSuccess);
  }
  Simulator::Get().Submit(simgpu::StreamOf(stream), work);
  return kSuccess;
}

const char* GemmOf(int data_type) { return data_type == CUDA_R_32F ? kSingleGemm : kHalfGemm; }

}  // namespace

SIMGPU_EXPORT int cublasCreate_v2(void** handle) {
  if (handle == nullptr) return kInvalidValue;
  *handle = new Handle;
  return kSuccess;
}

SIMGPU_EXPORT int cublasDestroy_v2(void* handle) {
  delete static_cast<Handle*>(handle);
  return kSuccess;
}

SIMGPU_EXPORT int cublasSetStream_v2(void* handle, cudaStream_t stream) {
  if (handle == nullptr) return kNotInitialized;
  static_cast<Handle*>(handle)->stream = stream;
  return kSuccess;
}

SIMGPU_EXPORT int cublasGetStream_v2(void* handle, cudaStream_t* stream) {
  if (handle == nullptr) return kNotInitialized;
  *stream = static_cast<Handle*>(handle)->stream;
  return kSuccess;
}

SIMGPU_EXPORT int cublasSetMathMode(void*, int) { return kSuccess; }
SIMGPU_EXPORT int cublasSetWorkspace_v2(void*, void*, size_t) { return kSuccess; }
SIMGPU_EXPORT int cublasSetPointerMode_v2(void*, int) { return kSuccess; }

SIMGPU_EXPORT int cublasGetVersion_v2(void*, int* version) {
  *version = 130000;
  return kSuccess;
}

SIMGPU_EXPORT const char* cublasGetStatusString(int status) {
  return status == kSuccess ? "CUBLAS_STATUS_SUCCESS" : "error of the simulated cuBLAS";
}

SIMGPU_EXPORT int cublasSgemm_v2(void* handle, int, int, int m, int n, int, const float*, const float*, int,
                                 const float*, int, const float*, float*, int) {
  return Launch(handle, kSingleGemm, m, n, 1);
}

SIMGPU_EXPORT int cublasGemmEx(void* handle, int, int, int m, int n, int, const void*, const void*, int type_a, int,
                               const void*, int, int, const void*, void*, int, int, int, int) {
  return Launch(handle, GemmOf(type_a), m, n, 1);
}

SIMGPU_EXPORT int cublasGemmStridedBatchedEx(void* handle, int, int, int m, int n, int, const void*, const void*,
                                             int type_a, int, long long, const void*, int, int, long long, const void*,
                                             void*, int, int, long long, int batch, int, int) {
  return Launch(handle, GemmOf(type_a), m, n, batch);
}

SIMGPU_EXPORT int cublasGemmBatchedEx(void* handle, int, int, int m, int n, int, const void*, const void* const*,
                                      int type_a, int, const void* const*, int, int, const void*, void* const*, int,
                                      int, int batch, int, int) {
  return Launch(handle, GemmOf(type_a), m, n, batch);
}

SIMGPU_EXPORT int cublasSgemmBatched(void* handle, int, int, int m, int n, int, const float*, const float* const*, int,
                                     const float* const*, int, const float*, float* const*, int, int batch) {
  return Launch(handle, kSingleGemm, m, n, batch);
}

SIMGPU_EXPORT int cublasSgemmStridedBatched(void* handle, int, int, int m, int n, int, const float*, const float*, int,
                                            long long, const float*, int, long long, const float*, float*, int,
                                            long long, int batch) {
  return Launch(handle, kSingleGemm, m, n, batch);
}

SIMGPU_EXPORT int cublasStrsmBatched(void* handle, int, int, int, int, int m, int n, const float*, const float* const*,
                                     int, float* const*, int, int batch) {
  return Launch(handle, kSingleTrsm, m, n, batch);
}
