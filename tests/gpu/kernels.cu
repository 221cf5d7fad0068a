#include "tests/gpu/kernels.h"

namespace {

__device__ unsigned long long NowNs() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__device__ void SpinFor(unsigned long long ns) {
  const unsigned long long begin = NowNs();
  while (NowNs() - begin < ns) {
  }
}

__global__ void short_kernel(int rounds) {
  volatile float value = threadIdx.x;
  for (int i = 0; i < rounds; ++i) value = value * 0.5f + 1.0f;
}
__global__ void middle_kernel(unsigned long long ns) { SpinFor(ns); }
__global__ void long_kernel(unsigned long long ns) { SpinFor(ns); }

}  // namespace

namespace gpu_probe {

void LaunchShort(cudaStream_t stream) { short_kernel<<<dim3(2, 3), 64, 0, stream>>>(100); }
void LaunchMiddle(cudaStream_t stream) { middle_kernel<<<dim3(2, 3), 64, 0, stream>>>(kMiddleUs * 1000ull); }
void LaunchLong(cudaStream_t stream) { long_kernel<<<dim3(2, 3), 64, 0, stream>>>(kLongMs * 1000000ull); }

}  // namespace gpu_probe
