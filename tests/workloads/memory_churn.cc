// Decode steps that do to memory, code and contexts what real programs do by mistake, so that tests know what was done: it is
// printed at the end as one JSON object.
//
// Runs on the simulated GPU; kernels are names alone.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/workloads/decode_kernels.h"

namespace {

constexpr size_t kMib = 1 << 20;
constexpr char kPtx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry late_kernel()\n{\n  ret;\n}\n";

struct Options {
  int steps = 200;
  bool pools = false, pinning = false, managed = false, modules = false, green = false, cooperative = false;
  int pause_us = 0;
};

void Check(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "memory_churn: %s: error %d\n", what, error);
  std::exit(3);
}
#define CHECKED(call) Check(static_cast<int>(call), #call)

// Looked up: a program that asks the loader for the driver, as Triton does.
template <typename Function>
Function Driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "memory_churn: no %s\n", name);
    std::exit(3);
  }
  return reinterpret_cast<Function>(function);
}

void MakeGreenContext() {
  CUdevResource all = {}, part = {}, rest = {};
  CHECKED(Driver<decltype(&cuDeviceGetDevResource)>("cuDeviceGetDevResource")(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  unsigned int groups = 1;
  CHECKED(Driver<decltype(&cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount")(&part, &groups, &all, &rest, 0,
                                                                                        16));
  CUdevResourceDesc descriptor = nullptr;
  CHECKED(Driver<decltype(&cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(&descriptor, &part, 1));
  CUgreenCtx context = nullptr;
  CHECKED(
      Driver<decltype(&cuGreenCtxCreate)>("cuGreenCtxCreate")(&context, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Decode steps with allocations, pinning, loading and more in them");
  app.add_option("--steps", options.steps);
  app.add_option("--pause-us", options.pause_us, "between steps");
  app.add_flag("--pools", options.pools, "stream-ordered allocation, and a trim each 50 steps");
  app.add_flag("--pinning", options.pinning);
  app.add_flag("--managed", options.managed);
  app.add_flag("--modules", options.modules, "a module of PTX each 50 steps");
  app.add_flag("--green", options.green);
  app.add_flag("--cooperative", options.cooperative);
  CLI11_PARSE(app, argc, argv);

  cudaStream_t stream = nullptr;
  float* activations = nullptr;
  int *tokens = nullptr, *host_tokens = nullptr;
  CHECKED(cudaStreamCreate(&stream));
  CHECKED(cudaMalloc(reinterpret_cast<void**>(&activations), 64 * kMib));
  CHECKED(cudaMalloc(reinterpret_cast<void**>(&tokens), 4096));
  CHECKED(cudaMallocHost(reinterpret_cast<void**>(&host_tokens), 4096));
  nvtxNameOsThreadA(static_cast<uint32_t>(syscall(SYS_gettid)), "churner");
  nvtxNameCudaStreamA(stream, "decode stream");
  if (options.green) MakeGreenContext();
  void* managed = nullptr;
  if (options.managed) CHECKED(cudaMallocManaged(&managed, 8 * kMib, cudaMemAttachGlobal));
  std::vector<char> pageable(2 * kMib);

  uint64_t mallocs = 2, frees = 0, trims = 0, registrations = 0, modules = 0;
  for (int step = 0; step < options.steps; ++step) {
    void* scratch = nullptr;
    CHECKED(cudaMalloc(&scratch, kMib));
    ++mallocs;
    if (options.pools) {
      void* piece = nullptr;
      CHECKED(cudaMallocAsync(&piece, 4 * kMib, stream));
      CHECKED(cudaFreeAsync(piece, stream));
      if (step % 50 == 49) {
        cudaMemPool_t pool = nullptr;
        CHECKED(cudaDeviceGetDefaultMemPool(&pool, 0));
        CHECKED(cudaMemPoolTrimTo(pool, 0));
        ++trims;
      }
    }
    if (options.pinning) {
      CHECKED(cudaHostRegister(pageable.data(), pageable.size(), cudaHostRegisterDefault));
      ++registrations;
    }
    if (options.modules && step % 50 == 25) {
      CUmodule module = nullptr;
      CHECKED(Driver<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module, kPtx));
      ++modules;
    }
    for (int layer = 0; layer < 2; ++layer) workloads::LaunchLayer(activations, 8, 4096, stream);
    workloads::LaunchSampler(activations, 8, 4096, tokens, stream);
    if (options.cooperative) {
      const void* none = &options;  // not a kernel: refused, after CUPTI has seen the call
      cudaLaunchCooperativeKernel(none, dim3(1), dim3(1), nullptr, 0, stream);
    }
    CHECKED(cudaMemcpyAsync(host_tokens, tokens, 32, cudaMemcpyDeviceToHost, stream));
    CHECKED(cudaStreamSynchronize(stream));
    if (options.pinning) CHECKED(cudaHostUnregister(pageable.data()));
    CHECKED(cudaFree(scratch));
    ++frees;
    if (options.pause_us > 0) usleep(static_cast<useconds_t>(options.pause_us));
  }
  std::printf(
      "{\"steps\": %d, \"cudaMalloc\": %llu, \"cudaFree\": %llu, \"device_live_bytes\": %llu, \"trims\": %llu, "
      "\"registrations\": %llu, \"modules\": %llu, \"tid\": %ld}\n",
      options.steps, static_cast<unsigned long long>(mallocs), static_cast<unsigned long long>(frees),
      static_cast<unsigned long long>(64 * kMib + 4096), static_cast<unsigned long long>(trims),
      static_cast<unsigned long long>(registrations), static_cast<unsigned long long>(modules), syscall(SYS_gettid));
  return 0;
}
