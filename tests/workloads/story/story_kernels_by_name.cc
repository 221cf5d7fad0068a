// The kernels where no nvcc compiles them: names alone, registered as compiled code registers them. They exist only on
// the simulated GPU; a real driver refuses them.
#include "tests/workloads/story/story_kernels.h"

extern "C" {
void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function, const char* device_name,
                            int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warp_size);
void __cudaRegisterFatBinaryEnd(void** handle);
}

namespace workloads {
namespace {

// In the order of StoryKernel; mangled as nvcc mangles story_kernels.cu.
const char* const kNames[] = {
    "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5ShapeIJLi128ELi128ELi128EEEENS1_"
    "37KernelTmaWarpSpecializedPingpongSm120ENS1_12float_e4m3_tEEEEEvPf",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
    "triton_red_fused__to_copy_mul_silu_1",
    "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalINS1_17GroupProblemShapeIN4cute5ShapeIJLi128ELi128ELi"
    "256EEEEEENS1_48KernelPtrArrayTmaWarpSpecializedBlockScaledSm120ENS1_12float_e2m1_tEEEEEvPf",
    "triton_red_fused_add_mean_mul_rms_norm_3",
    "flash_fwd_splitkv_kernel",
    "reshape_and_cache_flash_kernel",
    "moe_topk_gating_softmax_kernel",
    "cvt_fp16_to_fp4_quant_kernel",
    "gated_delta_rule_attention_kernel",
    "rejection_sample_kernel",
};
static_assert(sizeof kNames / sizeof kNames[0] == kStoryKernels);
char stubs[kStoryKernels];  // their addresses are the kernels' identities

const bool registered = [] {
  static const int empty_fat_binary = 0;
  void** handle = __cudaRegisterFatBinary(const_cast<int*>(&empty_fat_binary));
  for (int i = 0; i < kStoryKernels; ++i) {
    __cudaRegisterFunction(handle, &stubs[i], nullptr, kNames[i], -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  __cudaRegisterFatBinaryEnd(handle);
  return true;
}();

}  // namespace

void LaunchStoryKernel(StoryKernel kernel, float*, cudaStream_t stream) {
  (void)registered;
  cudaLaunchKernel(&stubs[static_cast<int>(kernel)], dim3(132), dim3(128), nullptr, 0, stream);
}

}  // namespace workloads
