// The CUDA driver calls that allocate, free and pin memory, or load code, as driver_calls.h has the others. Their arguments
// may be what they did to memory (memory_calls.h); R(p) as in runtime_calls.h.
#pragma once

#include "agent/cuda/driver_calls.h"

// clang-format off
#define STALLSCOPE_CUDA_DRIVER_MEMORY_CALLS(Y)                                                                         \
  Y(cuMemAlloc_v2, kAlloc, (CUdeviceptr* dptr, size_t bytesize), (dptr, bytesize),                                     \
    0, Allocated(kDeviceMemory, R(P(dptr)), P(bytesize)), 0)                                                           \
  Y(cuMemAllocManaged, kAlloc, (CUdeviceptr* dptr, size_t bytesize, unsigned int flags), (dptr, bytesize, flags),      \
    0, Allocated(kManagedMemory, R(P(dptr)), P(bytesize)), 0)                                                          \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemAllocAsync, _ptsz, kAlloc,                                                            \
    (CUdeviceptr* dptr, size_t bytesize, CUstream hStream), (dptr, bytesize, hStream),                                 \
    P(hStream), Allocated(kDeviceMemory, R(P(dptr)), P(bytesize)), 0)                                                  \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemAllocFromPoolAsync, _ptsz, kAlloc,                                                    \
    (CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), (dptr, bytesize, pool, hStream),        \
    P(hStream), Allocated(kDeviceMemory, R(P(dptr)), P(bytesize)), 0)                                                  \
  Y(cuMemFree_v2, kFree, (CUdeviceptr dptr), (dptr), 0, Freed(kDeviceMemory, P(dptr)), 0)                              \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemFreeAsync, _ptsz, kFree,                                                              \
    (CUdeviceptr dptr, CUstream hStream), (dptr, hStream), P(hStream), Freed(kDeviceMemory, P(dptr)), 0)               \
  Y(cuMemPoolTrimTo, kFree, (CUmemoryPool pool, size_t minBytesToKeep), (pool, minBytesToKeep),                        \
    0, Trimmed(P(pool), P(minBytesToKeep)), 0)                                                                         \
  Y(cuMemHostAlloc, kHostAlloc, (void** pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags),               \
    0, Allocated(kPinnedMemory, R(P(pp)), P(bytesize)), 0)                                                             \
  Y(cuMemFreeHost, kFree, (void* p), (p), 0, Freed(kPinnedMemory, P(p)), 0)                                            \
  Y(cuMemHostRegister_v2, kHostRegister, (void* p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags),         \
    0, Pinned(P(p), P(bytesize)), 0)                                                                                   \
  Y(cuMemHostUnregister, kHostRegister, (void* p), (p), 0, Unpinned(P(p)), 0)                                          \
  /* physical memory that an allocator with expandable segments maps itself: CUPTI has no record of it */              \
  Y(cuMemCreate, kAlloc,                                                                                               \
    (CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop, unsigned long long flags),    \
    (handle, size, prop, flags), 0, Always(Allocated(kDeviceMemory, R(P(handle)), P(size))), 0)                        \
  Y(cuMemRelease, kFree, (CUmemGenericAllocationHandle handle), (handle),                                              \
    0, Always(Freed(kDeviceMemory, P(handle))), 0)                                                                     \
  Y(cuModuleLoad, kModuleLoad, (CUmodule* module, const char* fname), (module, fname), 0, 0, 0)                        \
  Y(cuModuleLoadFatBinary, kModuleLoad, (CUmodule* module, const void* fatCubin), (module, fatCubin), 0, 0, 0)         \
  Y(cuLibraryLoadData, kModuleLoad,                                                                                    \
    (CUlibrary* library, const void* code, CUjit_option* jitOptions, void** jitOptionsValues,                          \
     unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,                          \
     unsigned int numLibraryOptions),                                                                                  \
    (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,                  \
     numLibraryOptions), 0, 0, 0)                                                                                      \
  Y(cuLibraryLoadFromFile, kModuleLoad,                                                                                \
    (CUlibrary* library, const char* fileName, CUjit_option* jitOptions, void** jitOptionsValues,                      \
     unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,                          \
     unsigned int numLibraryOptions),                                                                                  \
    (library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,              \
     numLibraryOptions), 0, 0, 0)
// clang-format on
