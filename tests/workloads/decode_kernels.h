// The kernels of one decode step, under names like an inference engine's. Compiled by nvcc where there is one (they
// then also run on a real GPU), else registered by name alone for the simulated GPU.
#ifndef STALLSCOPE_TESTS_WORKLOADS_DECODE_KERNELS_H_
#define STALLSCOPE_TESTS_WORKLOADS_DECODE_KERNELS_H_

#include <cuda_runtime_api.h>

namespace workloads {

// One transformer layer of a decode step: norm, attention projections, attention, and the two products of the MLP.
// `activations` holds sequences * hidden floats.
void LaunchLayer(float* activations, int sequences, int hidden, cudaStream_t stream);
// The next token of each sequence from its activations.
void LaunchSampler(const float* activations, int sequences, int hidden, int* tokens, cudaStream_t stream);

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_DECODE_KERNELS_H_
