// libcublas.so.13 and .12: matrix products become kernels named like the real ones; the numbers they would compute are not
// computed. cuBLAS's headers are not needed: the functions are declared here by their C ABI.
#include <cstddef>

#include "tests/simgpu/cublas/gemm.h"

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using simgpu::cublas::GemmName;
using simgpu::cublas::kGemv;
using simgpu::cublas::kInvalidValue;
using simgpu::cublas::kNotInitialized;
using simgpu::cublas::kSingleTrsm;
using simgpu::cublas::kSuccess;
using simgpu::cublas::kVector;

struct Handle {
  cudaStream_t stream = nullptr;
  int math_mode = 0;
  int pointer_mode = 0;
  int atomics_mode = 0;
  int sm_count_target = 0;
};

int Launch(void* handle, const char* kernel_name, int64_t m, int64_t n, int64_t batch = 1) {
  if (handle == nullptr) return kNotInitialized;
  return simgpu::cublas::LaunchTiles(static_cast<Handle*>(handle)->stream, kernel_name, m, n, batch);
}

template <typename Value>
int Set(void* handle, int Handle::*field, Value value) {
  if (handle == nullptr) return kNotInitialized;
  static_cast<Handle*>(handle)->*field = static_cast<int>(value);
  return kSuccess;
}

int Get(void* handle, int Handle::*field, int* value) {
  if (handle == nullptr) return kNotInitialized;
  if (value == nullptr) return kInvalidValue;
  *value = static_cast<Handle*>(handle)->*field;
  return kSuccess;
}

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
SIMGPU_EXPORT int cublasSetMathMode(void* handle, int mode) { return Set(handle, &Handle::math_mode, mode); }
SIMGPU_EXPORT int cublasGetMathMode(void* handle, int* mode) { return Get(handle, &Handle::math_mode, mode); }
SIMGPU_EXPORT int cublasSetPointerMode_v2(void* handle, int mode) { return Set(handle, &Handle::pointer_mode, mode); }
SIMGPU_EXPORT int cublasGetPointerMode_v2(void* handle, int* mode) { return Get(handle, &Handle::pointer_mode, mode); }
SIMGPU_EXPORT int cublasSetAtomicsMode(void* handle, int mode) { return Set(handle, &Handle::atomics_mode, mode); }
SIMGPU_EXPORT int cublasGetAtomicsMode(void* handle, int* mode) { return Get(handle, &Handle::atomics_mode, mode); }
SIMGPU_EXPORT int cublasSetSmCountTarget(void* handle, int count) {
  return Set(handle, &Handle::sm_count_target, count);
}
SIMGPU_EXPORT int cublasGetSmCountTarget(void* handle, int* count) {
  return Get(handle, &Handle::sm_count_target, count);
}
SIMGPU_EXPORT int cublasSetWorkspace_v2(void* handle, void*, size_t) {
  return handle == nullptr ? kNotInitialized : kSuccess;
}
SIMGPU_EXPORT int cublasLoggerConfigure(int, int, int, const char*) { return kSuccess; }

SIMGPU_EXPORT int cublasGetVersion_v2(void*, int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = SIMGPU_CUBLAS_VERSION;
  return kSuccess;
}
SIMGPU_EXPORT size_t cublasGetCudartVersion() { return SIMGPU_CUBLAS_VERSION / 10; }
SIMGPU_EXPORT int cublasGetProperty(int type, int* value) {
  if (value == nullptr || type < 0 || type > 2) return kInvalidValue;
  *value = type == 0 ? SIMGPU_CUBLAS_VERSION / 10000 : 0;
  return kSuccess;
}

SIMGPU_EXPORT const char* cublasGetStatusString(int status) {
  return status == kSuccess ? "CUBLAS_STATUS_SUCCESS" : "error of the simulated cuBLAS";
}
SIMGPU_EXPORT const char* cublasGetStatusName(int status) { return cublasGetStatusString(status); }

// --- Products, by the type of their matrices. ---

#define SIMGPU_GEMM(name, type, T)                                                                                    \
  SIMGPU_EXPORT int name(void* handle, int, int, int m, int n, int, const T*, const T*, int, const T*, int, const T*, \
                         T*, int) {                                                                                   \
    return Launch(handle, GemmName(type), m, n);                                                                      \
  }
SIMGPU_GEMM(cublasSgemm_v2, CUDA_R_32F, float)
SIMGPU_GEMM(cublasDgemm_v2, CUDA_R_64F, double)
SIMGPU_GEMM(cublasHgemm, CUDA_R_16F, uint16_t)
SIMGPU_GEMM(cublasCgemm_v2, CUDA_R_32F, void)
SIMGPU_GEMM(cublasZgemm_v2, CUDA_R_64F, void)

#define SIMGPU_GEMM_STRIDED(name, type, T)                                                                             \
  SIMGPU_EXPORT int name(void* handle, int, int, int m, int n, int, const T*, const T*, int, long long, const T*, int, \
                         long long, const T*, T*, int, long long, int batch) {                                         \
    return Launch(handle, GemmName(type), m, n, batch);                                                                \
  }
SIMGPU_GEMM_STRIDED(cublasSgemmStridedBatched, CUDA_R_32F, float)
SIMGPU_GEMM_STRIDED(cublasDgemmStridedBatched, CUDA_R_64F, double)
SIMGPU_GEMM_STRIDED(cublasHgemmStridedBatched, CUDA_R_16F, uint16_t)

#define SIMGPU_GEMM_BATCHED(name, type, T)                                                                           \
  SIMGPU_EXPORT int name(void* handle, int, int, int m, int n, int, const T*, const T* const*, int, const T* const*, \
                         int, const T*, T* const*, int, int batch) {                                                 \
    return Launch(handle, GemmName(type), m, n, batch);                                                              \
  }
SIMGPU_GEMM_BATCHED(cublasSgemmBatched, CUDA_R_32F, float)
SIMGPU_GEMM_BATCHED(cublasDgemmBatched, CUDA_R_64F, double)
SIMGPU_GEMM_BATCHED(cublasHgemmBatched, CUDA_R_16F, uint16_t)

SIMGPU_EXPORT int cublasSgemmEx(void* handle, int, int, int m, int n, int, const float*, const void*, int type_a, int,
                                const void*, int, int, const float*, void*, int, int) {
  return Launch(handle, GemmName(type_a), m, n);
}
SIMGPU_EXPORT int cublasGemmEx(void* handle, int, int, int m, int n, int, const void*, const void*, int type_a, int,
                               const void*, int, int, const void*, void*, int, int, int, int) {
  return Launch(handle, GemmName(type_a), m, n);
}
SIMGPU_EXPORT int cublasGemmStridedBatchedEx(void* handle, int, int, int m, int n, int, const void*, const void*,
                                             int type_a, int, long long, const void*, int, int, long long, const void*,
                                             void*, int, int, long long, int batch, int, int) {
  return Launch(handle, GemmName(type_a), m, n, batch);
}
SIMGPU_EXPORT int cublasGemmBatchedEx(void* handle, int, int, int m, int n, int, const void*, const void* const*,
                                      int type_a, int, const void* const*, int, int, const void*, void* const*, int,
                                      int, int batch, int, int) {
  return Launch(handle, GemmName(type_a), m, n, batch);
}

SIMGPU_EXPORT int cublasStrsmBatched(void* handle, int, int, int, int, int m, int n, const float*, const float* const*,
                                     int, float* const*, int, int batch) {
  return Launch(handle, kSingleTrsm, m, n, batch);
}
SIMGPU_EXPORT int cublasStrsm_v2(void* handle, int, int, int, int, int m, int n, const float*, const float*, int,
                                 float*, int) {
  return Launch(handle, kSingleTrsm, m, n);
}

// --- Vectors. Results that the host would read (dot, norms) are not computed, so those functions are not there. ---

SIMGPU_EXPORT int cublasSgemv_v2(void* handle, int, int m, int, const float*, const float*, int, const float*, int,
                                 const float*, float*, int) {
  return Launch(handle, kGemv, m, 1);
}
SIMGPU_EXPORT int cublasDgemv_v2(void* handle, int, int m, int, const double*, const double*, int, const double*, int,
                                 const double*, double*, int) {
  return Launch(handle, kGemv, m, 1);
}
SIMGPU_EXPORT int cublasSaxpy_v2(void* handle, int n, const float*, const float*, int, float*, int) {
  return Launch(handle, kVector, n, 1);
}
SIMGPU_EXPORT int cublasSscal_v2(void* handle, int n, const float*, float*, int) {
  return Launch(handle, kVector, n, 1);
}
SIMGPU_EXPORT int cublasSgeam(void* handle, int, int, int m, int n, const float*, const float*, int, const float*,
                              const float*, int, float*, int) {
  return Launch(handle, kVector, m, n);
}
