// A program for a test: launches one kernel and one graph in every way in which programs reach the GPU, ten times each, and
// says how many launches that made. Built three times: with the runtime as a shared library, with the runtime inside, as
// nvcc links it by default, and linked to libcuda too.
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
extern "C" cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t, cudaStream_t);

namespace {

constexpr int kTimes = 10;

void Kernel() {}

// The driver's functions as Triton and NCCL get them: by dlsym, and by cuGetProcAddress.
struct Driver {
  decltype(&cuLaunchKernel) launch = nullptr, launch_per_thread = nullptr;
  decltype(&cuLaunchKernelEx) launch_ex = nullptr, launch_ex_per_thread = nullptr;
  decltype(&cuGraphLaunch) graph = nullptr, graph_per_thread = nullptr;

  bool Load() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return false;
    get_ = reinterpret_cast<Get>(dlsym(library, "cuGetProcAddress_v2"));
    launch = reinterpret_cast<decltype(launch)>(dlsym(library, "cuLaunchKernel"));
    launch_ex_per_thread = reinterpret_cast<decltype(launch_ex)>(dlsym(library, "cuLaunchKernelEx_ptsz"));
    graph = reinterpret_cast<decltype(graph)>(dlsym(library, "cuGraphLaunch"));
    return get_ != nullptr && launch != nullptr && launch_ex_per_thread != nullptr && graph != nullptr &&
           Find("cuLaunchKernel", true, &launch_per_thread) && Find("cuLaunchKernelEx", false, &launch_ex) &&
           Find("cuGraphLaunch", true, &graph_per_thread);
  }

 private:
  using Get = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  template <typename Function>
  bool Find(const char* name, bool per_thread_stream, Function* function) {
    const cuuint64_t flags =
        per_thread_stream ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    return get_(name, reinterpret_cast<void**>(function), 13000, flags, nullptr) == CUDA_SUCCESS;
  }
  Get get_ = nullptr;
};

// One kernel, captured from a stream.
cudaGraphExec_t MakeGraph(const void* kernel, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  const dim3 one(1, 1, 1);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaLaunchKernel(kernel, one, one, nullptr, 0, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

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
  int launches = 0, graph_launches = 0;
  const auto launched = [&launches](int result) {
    if (result != 0) std::printf("a launch failed: %d\n", result);
    ++launches;
  };
  const auto replayed = [&graph_launches](int result) {
    if (result != 0) std::printf("a graph launch failed: %d\n", result);
    ++graph_launches;
  };

  Driver driver;
  if (!driver.Load()) return 3;
  cudaFunction_t function = nullptr;
  if (cudaGetFuncBySymbol(&function, kernel) != cudaSuccess) return 4;
  cudaKernel_t handle = nullptr;
  if (cudaGetKernel(&handle, kernel) != cudaSuccess) return 5;
  const auto driver_function = reinterpret_cast<CUfunction>(function);

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
    launched(driver.launch(driver_function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    launched(driver.launch_per_thread(driver_function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    launched(driver.launch_ex(&driver_config, driver_function, nullptr, nullptr));
    launched(driver.launch_ex_per_thread(&driver_config, driver_function, nullptr, nullptr));
  }
  cudaGraphExec_t graph = MakeGraph(kernel, stream);
  if (graph == nullptr) return 6;
  for (int i = 0; i < kTimes; ++i) {
    replayed(cudaGraphLaunch(graph, stream));
    replayed(cudaGraphLaunch_ptsz(graph, stream));
    replayed(driver.graph(graph, stream));
    replayed(driver.graph_per_thread(graph, stream));
  }
#ifdef LINKED_TO_LIBCUDA
  // As a program or library that is linked to libcuda: what nothing but the agent's hooks sees without CUPTI.
  for (int i = 0; i < kTimes; ++i) {
    launched(cuLaunchKernel(driver_function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    launched(cuLaunchKernelEx(&driver_config, driver_function, nullptr, nullptr));
    replayed(cuGraphLaunch(graph, stream));
  }
  if (cuStreamSynchronize(stream) != CUDA_SUCCESS) return 7;
#endif
  cudaStreamSynchronize(stream);
  std::printf("%d launches %d graph launches\n", launches, graph_launches);
}
