// A program for a test: launches one kernel in every way in which programs reach the GPU, ten times each, and says how
// many launches that made. Built twice: with the runtime as a shared library, and with the runtime inside, as nvcc links
// it by default.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);
// What nvcc 13 makes of kernel<<<>>>; NVIDIA's headers declare them for nvcc alone.
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
extern "C" cudaError_t cudaLaunchKernel_ptsz(const void*, dim3, dim3, void**, size_t, cudaStream_t);
extern "C" cudaError_t cudaMemsetAsync_ptsz(void*, int, size_t, cudaStream_t);

namespace {

constexpr int kTimes = 10;

void Kernel() {}

// What libcuda does in cuInit. The simulated one does not.
void LoadInjection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return;
  void* tool = dlopen(path, RTLD_NOW);
  if (tool == nullptr) std::abort();
  reinterpret_cast<int (*)()>(dlsym(tool, "InitializeInjection"))();
}

}  // namespace

int main() {
  LoadInjection();
  const auto* const kernel = reinterpret_cast<const char*>(&Kernel);
  __cudaRegisterFunction(nullptr, kernel, nullptr, "_Z6Kernelv", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  cudaStream_t stream = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess) return 2;
  int launches = 0;
  const auto launched = [&launches](int result) {
    if (result != 0) std::printf("a launch failed: %d\n", result);
    ++launches;
  };

  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 3;
  const auto launch_kernel = reinterpret_cast<decltype(&cuLaunchKernel)>(dlsym(driver, "cuLaunchKernel"));
  const auto launch_kernel_ex = reinterpret_cast<decltype(&cuLaunchKernelEx)>(dlsym(driver, "cuLaunchKernelEx"));
  cudaFunction_t function = nullptr;
  if (cudaGetFuncBySymbol(&function, kernel) != cudaSuccess) return 4;
  cudaKernel_t handle = nullptr;
  if (cudaGetKernel(&handle, kernel) != cudaSuccess) return 5;

  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = dim3(1, 1, 1);
  config.stream = stream;
  CUlaunchConfig driver_config = {};
  driver_config.gridDimX = driver_config.gridDimY = driver_config.gridDimZ = 1;
  driver_config.blockDimX = driver_config.blockDimY = driver_config.blockDimZ = 1;
  driver_config.hStream = stream;
  const dim3 one(1, 1, 1);
  for (int i = 0; i < kTimes; ++i) {
    launched(cudaLaunchKernel(kernel, one, one, nullptr, 0, stream));
    launched(cudaLaunchKernel_ptsz(kernel, one, one, nullptr, 0, stream));
    launched(__cudaLaunchKernel(handle, one, one, nullptr, 0, stream));
    launched(cudaLaunchKernelExC(&config, kernel, nullptr));
    launched(launch_kernel(reinterpret_cast<CUfunction>(function), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    launched(launch_kernel_ex(&driver_config, reinterpret_cast<CUfunction>(function), nullptr, nullptr));
  }
  cudaStreamSynchronize(stream);
  std::printf("%d launches\n", launches);
}
