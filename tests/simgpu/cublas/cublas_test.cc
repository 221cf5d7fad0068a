// The simulated cuBLAS and cuBLASLt by their C ABI, as a program that knows only the headers would call them.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <library_types.h>

#include <cstdint>

extern "C" {
int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
int cublasSetStream_v2(void* handle, cudaStream_t stream);
int cublasSgemm_v2(void* handle, int, int, int m, int n, int k, const float*, const float*, int, const float*, int,
                   const float*, float*, int);
int cublasLtCreate(void** handle);
int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
int cublasLtMatrixLayoutDestroy(void* layout);
int cublasLtMatmulDescCreate(void** description, int compute, int scale);
int cublasLtMatmulDescDestroy(void* description);
int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value, size_t bytes);
int cublasLtMatmulDescGetAttribute(void* description, int attribute, void* value, size_t bytes, size_t* written);
int cublasLtMatmulPreferenceCreate(void** preference);
int cublasLtMatmulPreferenceDestroy(void* preference);
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void* results, int* found);
int cublasLtMatmul(void*, void*, const void*, const void*, const void*, const void*, const void*, const void*,
                   const void*, const void*, void*, const void*, const void*, void*, size_t, cudaStream_t);
}

namespace {

// The simulated time that a call's work takes on a stream.
template <typename Call>
float Milliseconds(cudaStream_t stream, Call call) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin, stream);
  call();
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds;
}

TEST(Cublas, Gemm_RunsOnTheHandlesStream) {
  void* handle = nullptr;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  ASSERT_EQ(cublasCreate_v2(&handle), 0);
  ASSERT_EQ(cublasSetStream_v2(handle, stream), 0);
  const float busy = Milliseconds(stream, [&] {
    EXPECT_EQ(cublasSgemm_v2(handle, 0, 0, 64, 64, 64, nullptr, nullptr, 64, nullptr, 64, nullptr, nullptr, 64), 0);
  });
  EXPECT_GE(busy, 0.0025f - 1e-5f);
  EXPECT_EQ(cublasSgemm_v2(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1), 1);
  EXPECT_EQ(cublasSgemm_v2(handle, 0, 0, -1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1), 7);
  cublasDestroy_v2(handle);
  cudaStreamDestroy(stream);
}

TEST(CublasLt, Matmul_WithTheHeuristicsAlgorithm_RunsAndKeepsAttributes) {
  void *handle, *description, *preference, *layout;
  ASSERT_EQ(cublasLtCreate(&handle), 0);
  ASSERT_EQ(cublasLtMatmulDescCreate(&description, 68, CUDA_R_32F), 0);
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), 0);
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, 256, 256, 256), 0);
  const int32_t transpose = 1;
  int32_t kept = 0;
  size_t written = 0;
  constexpr int kTransposeA = 3;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(description, kTransposeA, &transpose, sizeof transpose), 0);
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(description, kTransposeA, &kept, sizeof kept, &written), 0);
  EXPECT_EQ(kept, transpose);
  EXPECT_EQ(written, sizeof kept);
  alignas(8) char result[128];
  int found = 0;
  EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, description, layout, layout, layout, layout, preference, 1, result,
                                           &found),
            0);
  EXPECT_EQ(found, 1);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const float one = 1;
  const float busy = Milliseconds(stream, [&] {
    EXPECT_EQ(cublasLtMatmul(handle, description, &one, nullptr, layout, nullptr, layout, &one, nullptr, layout,
                             nullptr, layout, result, nullptr, 0, stream),
              0);
  });
  EXPECT_GE(busy, 0.0025f - 1e-5f);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatmulDescDestroy(description);
  cudaStreamDestroy(stream);
}

}  // namespace
