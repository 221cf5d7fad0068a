// What the simulated cuBLAS and cuBLASLt share: a product becomes a kernel named like the real one.
//
// Real cuBLAS embeds a static CUDA runtime, so its launches reach CUPTI but not an interposed libcudart. Here likewise: a
// launch is reported as cudaLaunchKernel to the tracer and calls no exported function. Any thread.
#ifndef STALLSCOPE_TESTS_SIMGPU_CUBLAS_GEMM_H_
#define STALLSCOPE_TESTS_SIMGPU_CUBLAS_GEMM_H_

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>

namespace simgpu::cublas {

inline constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7;

// Names that the real libraries' kernels have on this kind of device, by the type of the first matrix.
const char* GemmName(int data_type);
inline constexpr char kSingleTrsm[] = "_ZN8cublas_trsm_batch_left_lower_kernelIfLi256ELi4EEEv";
inline constexpr char kGemv[] = "_ZN8cublas_gemvNSP_kernelIfEEv";
inline constexpr char kVector[] = "_ZN8cublas_axpy_kernel_valIfEEv";

// A kernel over tiles of an m by n result, `batch` times.
int LaunchTiles(cudaStream_t stream, const char* kernel_name, int64_t m, int64_t n, int64_t batch);

}  // namespace simgpu::cublas

#endif  // STALLSCOPE_TESTS_SIMGPU_CUBLAS_GEMM_H_
