// The kernels where no nvcc compiles them: names alone, registered as compiled code registers them. They exist only on
// the simulated GPU; a real driver refuses them.
#include "tests/workloads/decode_kernels.h"

extern "C" {
void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function, const char* device_name,
                            int thread_limit, uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warp_size);
void __cudaRegisterFatBinaryEnd(void** handle);
}

namespace workloads {
namespace {

constexpr int kLayerKernels = 5;
const char* const kNames[] = {"_Z15rms_norm_kernelPfi",        "_Z15qkv_gemm_kernelPfi",
                              "_Z22paged_attention_kernelPfi", "_Z18mlp_up_gemm_kernelPfi",
                              "_Z20mlp_down_gemm_kernelPfi",   "_Z20argmax_sample_kernelPKfiPi"};
// Their addresses are the kernels' identities.
char stubs[sizeof kNames / sizeof kNames[0]];

const bool registered = [] {
  static const int empty_fat_binary = 0;
  void** handle = __cudaRegisterFatBinary(const_cast<int*>(&empty_fat_binary));
  for (size_t i = 0; i < sizeof stubs; ++i) {
    __cudaRegisterFunction(handle, &stubs[i], nullptr, kNames[i], -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  __cudaRegisterFatBinaryEnd(handle);
  return true;
}();

void Launch(int kernel, int blocks, int threads, cudaStream_t stream) {
  (void)registered;
  cudaLaunchKernel(&stubs[kernel], dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), nullptr,
                   0, stream);
}

}  // namespace

void LaunchLayer(float*, int sequences, int, cudaStream_t stream) {
  for (int kernel = 0; kernel < kLayerKernels; ++kernel) Launch(kernel, sequences, 256, stream);
}

void LaunchSampler(const float*, int sequences, int, int*, cudaStream_t stream) {
  Launch(kLayerKernels, sequences, 32, stream);
}

}  // namespace workloads
