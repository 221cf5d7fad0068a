// Kernels of the probes. Compiled by nvcc where there is one; without it names alone, which only the simulated GPU runs.
#ifndef STALLSCOPE_TESTS_GPU_KERNELS_H_
#define STALLSCOPE_TESTS_GPU_KERNELS_H_

#include <cuda_runtime_api.h>

namespace gpu_probe {

inline constexpr int kMiddleUs = 200;
inline constexpr int kLongMs = 100;

// A few microseconds; spins kMiddleUs; spins kLongMs. Grid (2, 3), block 64.
void LaunchShort(cudaStream_t stream);
void LaunchMiddle(cudaStream_t stream);
void LaunchLong(cudaStream_t stream);

}  // namespace gpu_probe

#endif  // STALLSCOPE_TESTS_GPU_KERNELS_H_
