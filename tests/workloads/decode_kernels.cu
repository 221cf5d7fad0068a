#include "tests/workloads/decode_kernels.h"

namespace {

constexpr int kThreads = 256;

__global__ void rms_norm_kernel(float* x, int hidden) {
  float* row = x + blockIdx.x * hidden;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = row[i] * 0.5f + 0.25f;
}

// Stands in for a product: the weights are made up from the indices, so that no memory is needed for them.
__global__ void qkv_gemm_kernel(float* x, int hidden) {
  float* row = x + blockIdx.x * hidden;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += row[i] * static_cast<float>((i * 31 + k * 17) % 13) * 0.01f;
    row[i] = sum;
  }
}

__global__ void paged_attention_kernel(float* x, int hidden) {
  float* row = x + blockIdx.x * hidden;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = row[i] / (1.0f + fabsf(row[i]));
}

__global__ void mlp_up_gemm_kernel(float* x, int hidden) {
  float* row = x + blockIdx.x * hidden;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = fmaxf(row[i] * 1.5f, -0.1f);
}

__global__ void mlp_down_gemm_kernel(float* x, int hidden) {
  float* row = x + blockIdx.x * hidden;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = row[i] * 0.75f + 0.01f * static_cast<float>(i % 7);
}

__global__ void argmax_sample_kernel(const float* x, int hidden, int* tokens) {
  if (threadIdx.x != 0) return;
  const float* row = x + blockIdx.x * hidden;
  int best = 0;
  for (int i = 1; i < hidden; ++i) {
    if (row[i] > row[best]) best = i;
  }
  tokens[blockIdx.x] = best;
}

}  // namespace

namespace workloads {

void LaunchLayer(float* activations, int sequences, int hidden, cudaStream_t stream) {
  rms_norm_kernel<<<sequences, kThreads, 0, stream>>>(activations, hidden);
  qkv_gemm_kernel<<<sequences, kThreads, 0, stream>>>(activations, hidden);
  paged_attention_kernel<<<sequences, kThreads, 0, stream>>>(activations, hidden);
  mlp_up_gemm_kernel<<<sequences, kThreads, 0, stream>>>(activations, hidden);
  mlp_down_gemm_kernel<<<sequences, kThreads, 0, stream>>>(activations, hidden);
}

void LaunchSampler(const float* activations, int sequences, int hidden, int* tokens, cudaStream_t stream) {
  argmax_sample_kernel<<<sequences, 32, 0, stream>>>(activations, hidden, tokens);
}

}  // namespace workloads
