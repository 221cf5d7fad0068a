// Code loaded at run time, and functions of the driver for who wants them by name.
#include <dlfcn.h>

#include "runtime_impl.h"
#include "tests/simgpu/core/module.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

Module* FindModule(cudaLibrary_t library) { return reinterpret_cast<Module*>(library); }
cudaKernel_t HandleOf(const Kernel* kernel) { return reinterpret_cast<cudaKernel_t>(const_cast<Kernel*>(kernel)); }

cudaError_t Give(std::unique_ptr<Module> module, cudaLibrary_t* library, cudaError_t otherwise) {
  if (module == nullptr) return otherwise;
  *library = reinterpret_cast<cudaLibrary_t>(module.release());
  return cudaSuccess;
}

// cuGetProcAddress_v2 of the driver that is loaded.
using GetProcAddress = int (*)(const char*, void**, int, uint64_t, int*);

cudaError_t FindEntryPoint(const char* symbol, void** function, unsigned version, unsigned long long flags,
                           cudaDriverEntryPointQueryResult* status) {
  static const auto get = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    return driver == nullptr ? nullptr : reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress_v2"));
  }();
  if (symbol == nullptr || function == nullptr) return cudaErrorInvalidValue;
  *function = nullptr;
  if (get == nullptr) return cudaErrorInsufficientDriver;
  int found = 0;
  const int error = get(symbol, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  // A caller who takes the status learns it there.
  return status != nullptr ? cudaSuccess : static_cast<cudaError_t>(error);
}

}  // namespace

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return FindEntryPoint(symbol, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return FindEntryPoint(symbol, function, version, flags, status);
}

#if CUDART_VERSION >= 13000
cudaError_t __cudaGetProcAddress(const char* symbol, void** function, unsigned int version, unsigned long long flags) {
  return FindEntryPoint(symbol, function, version, flags, nullptr);
}
#endif

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned int,
                                cudaLibraryOption*, void**, unsigned int) {
  if (library == nullptr || code == nullptr) return cudaErrorInvalidValue;
  return Give(LoadModule(code), library, cudaErrorInvalidKernelImage);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption*, void**, unsigned int,
                                    cudaLibraryOption*, void**, unsigned int) {
  if (library == nullptr || path == nullptr) return cudaErrorInvalidValue;
  return Give(LoadModuleFile(path), library, cudaErrorInvalidKernelImage);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  if (library == nullptr) return cudaErrorInvalidResourceHandle;
  delete FindModule(library);
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  if (kernel == nullptr || library == nullptr || name == nullptr) return cudaErrorInvalidValue;
  *kernel = HandleOf(FindModule(library)->FindKernel(name));
  return *kernel == nullptr ? cudaErrorSymbolNotFound : cudaSuccess;
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
  if (count == nullptr || library == nullptr) return cudaErrorInvalidValue;
  *count = static_cast<unsigned>(FindModule(library)->kernel_names().size());
  return cudaSuccess;
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count, cudaLibrary_t library) {
  if (kernels == nullptr || library == nullptr) return cudaErrorInvalidValue;
  Module* module = FindModule(library);
  for (unsigned i = 0; i < count && i < module->kernel_names().size(); ++i) {
    kernels[i] = HandleOf(module->FindKernel(module->kernel_names()[i]));
  }
  return cudaSuccess;
}

cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  if (library == nullptr || name == nullptr) return cudaErrorInvalidValue;
  void* address = nullptr;
  uint64_t size = 0;
  if (!FindModule(library)->FindVariable(name, &address, &size)) return cudaErrorSymbolNotFound;
  if (pointer != nullptr) *pointer = address;
  if (bytes != nullptr) *bytes = size;
  return cudaSuccess;
}

}  // namespace simgpu::runtime
