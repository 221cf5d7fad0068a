// The CUDA driver calls that the agent records from CUPTI's callbacks when they are not part of a runtime call:
// launches of Triton, NCCL, cuBLAS and other libraries that reach the driver directly, and what such code waits on.
//
// Y(name, class, object, argument, copy)    name: as in CUPTI_DRIVER_TRACE_CBID_<name> and <name>_params; P(field): see
//                                           runtime_calls.h
// Each enabled id costs a callback inside every runtime call that uses it, so this list holds what a budget needs and
// no more.
#pragma once

#define STALLSCOPE_DRIVER_TWIN(Y, name, suffix, ...) \
  Y(name, __VA_ARGS__)                               \
  Y(name##suffix, __VA_ARGS__)

// clang-format off
#define STALLSCOPE_CUDA_DRIVER_CALLS(Y)                                                                                \
  STALLSCOPE_DRIVER_TWIN(Y, cuLaunchKernel, _ptsz, kLaunch, P(hStream), 0, 0)                                          \
  STALLSCOPE_DRIVER_TWIN(Y, cuLaunchKernelEx, _ptsz, kLaunch, DriverLaunchStream(P(config)), 0, 0)                     \
  STALLSCOPE_DRIVER_TWIN(Y, cuLaunchCooperativeKernel, _ptsz, kLaunch, P(hStream), 0, 0)                               \
  Y(cuGraphLaunch, kGraphLaunch, P(hStream), P(hGraph), 0)                                                             \
  Y(cuGraphLaunch_ptsz, kGraphLaunch, P(hStream), P(hGraphExec), 0)                                                    \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyAsync, _ptsz, kCopyAsync, P(hStream), P(ByteCount), wire::CopyKind::kDefault)      \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpy, _ptds, kCopySync, 0, P(ByteCount), wire::CopyKind::kDefault)                     \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyHtoDAsync_v2, _ptsz, kCopyAsync, P(hStream), P(ByteCount),                         \
    wire::CopyKind::kHostToDevice)                                                                                     \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoHAsync_v2, _ptsz, kCopyAsync, P(hStream), P(ByteCount),                         \
    wire::CopyKind::kDeviceToHost)                                                                                     \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoDAsync_v2, _ptsz, kCopyAsync, P(hStream), P(ByteCount),                         \
    wire::CopyKind::kDeviceToDevice)                                                                                   \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyPeerAsync, _ptsz, kCopyAsync, P(hStream), P(ByteCount),                            \
    wire::CopyKind::kPeerToPeer)                                                                                       \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyHtoD_v2, _ptds, kCopySync, 0, P(ByteCount), wire::CopyKind::kHostToDevice)         \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoH_v2, _ptds, kCopySync, 0, P(ByteCount), wire::CopyKind::kDeviceToHost)         \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemcpyDtoD_v2, _ptds, kCopySync, 0, P(ByteCount), wire::CopyKind::kDeviceToDevice)       \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemsetD8Async, _ptsz, kMemset, P(hStream), P(N), 0)                                      \
  STALLSCOPE_DRIVER_TWIN(Y, cuMemsetD32Async, _ptsz, kMemset, P(hStream), P(N) * 4, 0)                                 \
  Y(cuCtxSynchronize, kSyncDevice, 0, 0, 0)                                                                            \
  STALLSCOPE_DRIVER_TWIN(Y, cuStreamSynchronize, _ptsz, kSyncStream, P(hStream), 0, 0)                                 \
  Y(cuEventSynchronize, kSyncEvent, 0, P(hEvent), 0)                                                                   \
  STALLSCOPE_DRIVER_TWIN(Y, cuEventRecord, _ptsz, kEventRecord, P(hStream), P(hEvent), 0)                              \
  STALLSCOPE_DRIVER_TWIN(Y, cuStreamWaitEvent, _ptsz, kStreamWaitEvent, P(hStream), P(hEvent), 0)                      \
  Y(cuModuleLoadData, kModuleLoad, 0, 0, 0)                                                                            \
  Y(cuModuleLoadDataEx, kModuleLoad, 0, 0, 0)
// clang-format on
