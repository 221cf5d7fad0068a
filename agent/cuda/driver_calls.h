// The CUDA driver calls that the agent records: launches of Triton, NCCL, cuBLAS and other libraries that reach the driver
// directly, and what such code waits on. One table drives the interposed functions (for programs that are linked to
// libcuda), the callback ids that are enabled in CUPTI (for all others: they ask dlsym or cuGetProcAddress, which nothing
// of ours stands between), the reading of CUPTI's parameter blocks and the class of each call. Calls that are part of a
// runtime call are not recorded again.
//
// Y(name, class, parameters, arguments, object, argument, copy)
//   name        as exported, and as in CUPTI_DRIVER_TRACE_CBID_<name> and <name>_params
//   the rest    as in runtime_calls.h: names of parameters are those of the parameter block's fields
// Each enabled id costs a callback inside every runtime call that uses it, so this list holds what a budget needs and
// no more.
#pragma once

#define STALLSCOPE_DRIVER_TWIN(Y, name, suffix, ...) \
  Y(name, __VA_ARGS__)                               \
  Y(name##suffix, __VA_ARGS__)

// clang-format off
#define STALLSCOPE_DRIVER_GRID                                                                                         \
  unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,                         \
  unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes
#define STALLSCOPE_DRIVER_GRID_ARGUMENTS                                                                               \
  gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes

#define STALLSCOPE_CUDA_DRIVER_CALLS(Y)                                                                                \
  STALLSCOPE_DRIVER_TWIN(Y, cuLaunchKernel, _ptsz, kLaunch,                                                            \
    (CUfunction f, STALLSCOPE_DRIVER_GRID, CUstream hStream, void** kernelParams, void** extra),                       \
    (f, STALLSCOPE_DRIVER_GRID_ARGUMENTS, hStream, kernelParams, extra), P(hStream), 0, 0)                             \
  STALLSCOPE_DRIVER_TWIN(Y, cuLaunchKernelEx, _ptsz, kLaunch,                                                          \
    (const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra), (config, f, kernelParams, extra), \
    DriverLaunchStream(P(config)), 0, 0)                                                                               \
  STALLSCOPE_DRIVER_TWIN(Y, cuLaunchCooperativeKernel, _ptsz, kLaunch,                                                 \
    (CUfunction f, STALLSCOPE_DRIVER_GRID, CUstream hStream, void** kernelParams),                                     \
    (f, STALLSCOPE_DRIVER_GRID_ARGUMENTS, hStream, kernelParams), P(hStream), 0, 0)                                    \
  Y(cuGraphLaunch, kGraphLaunch, (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream), P(hStream), P(hGraph), 0)  \
  Y(cuGraphLaunch_ptsz, kGraphLaunch, (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream),               \
    P(hStream), P(hGraphExec), 0)                                                                                      \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyAsync, _ptsz, kCopyAsync,                                                          \
    (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), (dst, src, ByteCount, hStream),            \
    P(hStream), P(ByteCount), wire::CopyKind::kDefault)                                                                \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpy, _ptds, kCopySync,                                                                \
    (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount), 0, P(ByteCount),                      \
    wire::CopyKind::kDefault)                                                                                          \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyHtoDAsync_v2, _ptsz, kCopyAsync,                                                   \
    (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream),                                  \
    (dstDevice, srcHost, ByteCount, hStream), P(hStream), P(ByteCount), wire::CopyKind::kHostToDevice)                 \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoHAsync_v2, _ptsz, kCopyAsync,                                                   \
    (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),                                        \
    (dstHost, srcDevice, ByteCount, hStream), P(hStream), P(ByteCount), wire::CopyKind::kDeviceToHost)                 \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoDAsync_v2, _ptsz, kCopyAsync,                                                   \
    (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),                                \
    (dstDevice, srcDevice, ByteCount, hStream), P(hStream), P(ByteCount), wire::CopyKind::kDeviceToDevice)             \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyPeerAsync, _ptsz, kCopyAsync,                                                      \
    (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,       \
     CUstream hStream),                                                                                                \
    (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream), P(hStream), P(ByteCount),                      \
    wire::CopyKind::kPeerToPeer)                                                                                       \
  /* also what CUDA 12's cudaMemcpyBatchAsync comes down to, whose own callback id is another than CUDA 13's */        \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyBatchAsync, _ptsz, kCopyAsync,                                                     \
    (CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,  \
     size_t numAttrs, size_t* failIdx, CUstream hStream),                                                              \
    (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream),                                          \
    P(hStream), BatchBytes(P(sizes), P(count), succeeded), wire::CopyKind::kDefault)                                   \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyBatchAsync_v2, _ptsz, kCopyAsync,                                                  \
    (CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,  \
     size_t numAttrs, CUstream hStream),                                                                               \
    (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream),                                                   \
    P(hStream), BatchBytes(P(sizes), P(count), succeeded), wire::CopyKind::kDefault)                                   \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyHtoD_v2, _ptds, kCopySync,                                                         \
    (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount), (dstDevice, srcHost, ByteCount), 0, P(ByteCount),  \
    wire::CopyKind::kHostToDevice)                                                                                     \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoH_v2, _ptds, kCopySync,                                                         \
    (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount), (dstHost, srcDevice, ByteCount), 0, P(ByteCount),        \
    wire::CopyKind::kDeviceToHost)                                                                                     \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoD_v2, _ptds, kCopySync,                                                         \
    (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount), (dstDevice, srcDevice, ByteCount), 0,            \
    P(ByteCount), wire::CopyKind::kDeviceToDevice)                                                                     \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemsetD8Async, _ptsz, kMemset,                                                           \
    (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream), (dstDevice, uc, N, hStream),                \
    P(hStream), P(N), 0)                                                                                               \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemsetD32Async, _ptsz, kMemset,                                                          \
    (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream), (dstDevice, ui, N, hStream),                 \
    P(hStream), P(N) * 4, 0)                                                                                           \
  Y(cuCtxSynchronize, kSyncDevice, (), (), 0, 0, 0)                                                                    \
  STALLSCOPE_DRIVER_TWIN(Y, cuStreamSynchronize, _ptsz, kSyncStream, (CUstream hStream), (hStream), P(hStream), 0, 0)  \
  Y(cuEventSynchronize, kSyncEvent, (CUevent hEvent), (hEvent), 0, P(hEvent), 0)                                       \
  STALLSCOPE_DRIVER_TWIN(Y, cuEventRecord, _ptsz, kEventRecord,                                                        \
    (CUevent hEvent, CUstream hStream), (hEvent, hStream), P(hStream), P(hEvent), 0)                                   \
  STALLSCOPE_DRIVER_TWIN(Y, cuStreamWaitEvent, _ptsz, kStreamWaitEvent,                                                \
    (CUstream hStream, CUevent hEvent, unsigned int Flags), (hStream, hEvent, Flags), P(hStream), P(hEvent), 0)        \
  Y(cuModuleLoadData, kModuleLoad, (CUmodule* module, const void* image), (module, image), 0, 0, 0)                    \
  Y(cuModuleLoadDataEx, kModuleLoad,                                                                                   \
    (CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options, void** optionValues),        \
    (module, image, numOptions, options, optionValues), 0, 0, 0)
// clang-format on
