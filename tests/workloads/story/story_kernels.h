// The kernels of the reference story, under names like the published ones. Compiled by nvcc where there is one, else
// registered by name alone for the simulated GPU.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_STORY_KERNELS_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_STORY_KERNELS_H_

#include <cuda_runtime_api.h>

namespace workloads {

enum class StoryKernel : int {
  kGemm,  // published rows: these five
  kFill,
  kSilu,
  kGroupedGemm,
  kRmsNorm,
  kAttention,  // the rest of the published kernel time; which kernels took it was not published
  kCacheWrite,
  kRouting,
  kQuantize,
  kLinearAttention,
  kSample,
  kCount
};
inline constexpr int kStoryKernels = static_cast<int>(StoryKernel::kCount);

// `memory`: device memory of at least 512 bytes.
void LaunchStoryKernel(StoryKernel kernel, float* memory, cudaStream_t stream);

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_STORY_KERNELS_H_
