// Code loaded at run time, its functions, and their launches.
#include "driver_impl.h"
#include "runtime_impl.h"
#include "tests/simgpu/core/module.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {
namespace {

Module* FindModule(CUmodule module) { return reinterpret_cast<Module*>(module); }
Module* FindModule(CUlibrary library) { return reinterpret_cast<Module*>(library); }
const Kernel* FindKernel(const void* handle) {
  return Simulator::Get().kernels().IsKernel(handle) ? static_cast<const Kernel*>(handle) : nullptr;
}
void* HandleOf(const Kernel* kernel) { return const_cast<Kernel*>(kernel); }

CUresult Give(std::unique_ptr<Module> loaded, CUmodule* module, CUresult otherwise) {
  if (loaded == nullptr) return otherwise;
  *module = reinterpret_cast<CUmodule>(loaded.release());
  return CUDA_SUCCESS;
}

CUresult GetVariable(Module* module, const char* name, CUdeviceptr* address, size_t* bytes) {
  void* found = nullptr;
  uint64_t size = 0;
  if (module == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!module->FindVariable(name, &found, &size)) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(found);
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

CUresult Attribute(int* value, CUfunction_attribute attribute, const void* function) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes all;
  const cudaError_t error = runtime::cudaFuncGetAttributes(&all, function);
  if (error != cudaSuccess) return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = all.maxThreadsPerBlock;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = all.numRegs;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = all.binaryVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = all.maxDynamicSharedSizeBytes;
      return CUDA_SUCCESS;
    default:
      *value = 0;  // static shared, constant and local memory, and cluster wishes: none
      return CUDA_SUCCESS;
  }
}

}  // namespace

const char* KernelName(CUfunction function) {
  const Kernel* kernel = FindKernel(function);
  return kernel == nullptr ? nullptr : kernel->name.c_str();
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Give(LoadModule(image), module, CUDA_ERROR_INVALID_IMAGE);
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*, void**) {
  return driver::cuModuleLoadData(module, image);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return driver::cuModuleLoadData(module, image); }
CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Give(LoadModuleFile(path), module, CUDA_ERROR_FILE_NOT_FOUND);
}
CUresult cuModuleUnload(CUmodule module) {
  delete FindModule(module);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (function == nullptr || module == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = static_cast<CUfunction>(HandleOf(FindModule(module)->FindKernel(name)));
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  if (count == nullptr || module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(FindModule(module)->kernel_names().size());
  return CUDA_SUCCESS;
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule handle) {
  if (functions == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* module = FindModule(handle);
  for (unsigned i = 0; i < count && i < module->kernel_names().size(); ++i) {
    functions[i] = static_cast<CUfunction>(HandleOf(module->FindKernel(module->kernel_names()[i])));
  }
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return GetVariable(FindModule(module), name, address, bytes);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                           void**, unsigned int) {
  return driver::cuModuleLoadData(reinterpret_cast<CUmodule*>(library), code);
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned int,
                               CUlibraryOption*, void**, unsigned int) {
  return driver::cuModuleLoad(reinterpret_cast<CUmodule*>(library), path);
}
CUresult cuLibraryUnload(CUlibrary library) {
  delete FindModule(library);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return driver::cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel), reinterpret_cast<CUmodule>(library), name);
}
CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  return driver::cuModuleGetFunctionCount(count, reinterpret_cast<CUmodule>(library));
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary library) {
  return driver::cuModuleEnumerateFunctions(reinterpret_cast<CUfunction*>(kernels), count,
                                            reinterpret_cast<CUmodule>(library));
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return GetVariable(FindModule(library), name, address, bytes);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return FindKernel(kernel) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  *name = KernelName(reinterpret_cast<CUfunction>(kernel));
  return *name == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  return Attribute(value, attribute, kernel);
}
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel kernel, CUdevice) {
  return FindKernel(kernel) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = KernelName(function);
  return *name == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return Attribute(value, attribute, function);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int) {
  return FindKernel(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return FindKernel(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction) {
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                              size_t shared_bytes, unsigned int flags) {
  return AsResult(
      runtime::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, flags));
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared_bytes) {
  return driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int threads) {
  return AsResult(runtime::cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads));
}
CUresult cuOccupancyMaxPotentialClusterSize(int* cluster_blocks, CUfunction function, const CUlaunchConfig*) {
  return AsResult(runtime::cudaOccupancyMaxPotentialClusterSize(cluster_blocks, function, nullptr));
}
// One block of full size on each multiprocessor's share.
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction, CUoccupancyB2DSize, size_t, int limit) {
  constexpr int kThreads = 1024;
  *block = limit > 0 && limit < kThreads ? limit : kThreads;
  *grid = static_cast<int>(Simulator::Get().config().sm_count) * (2048 / *block);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments,
                        void**) {
  if (FindKernel(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return AsResult(runtime::cudaLaunchKernel(reinterpret_cast<const void*>(function), dim3(grid_x, grid_y, grid_z),
                                            dim3(block_x, block_y, block_z), arguments, shared_bytes, stream));
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return driver::cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                                config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                                arguments, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void** arguments) {
  return driver::cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                                arguments, nullptr);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  return AsResult(runtime::cudaLaunchHostFunc(stream, function, argument));
}

}  // namespace simgpu::driver
