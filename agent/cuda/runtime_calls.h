// The CUDA runtime calls that the agent records: one table that drives the interposed functions, the callback ids that
// are enabled in CUPTI, the reading of CUPTI's parameter blocks, the class of each call and the name shown when CUPTI
// cannot be asked.
//
// X(symbol, cupti_name, class, parameters, arguments, object, argument, copy)
//   symbol      the exported function, as a program's undefined symbol names it
//   cupti_name  symbol and version as CUPTI and nsys spell it; CUPTI_RUNTIME_TRACE_CBID_<cupti_name> is the callback
//   id,
//               <cupti_name>_params the parameter block
//   class       wire::CudaCallClass
//   parameters  as declared; their names are those of the parameter block's fields
//   object      stream handle (0: legacy default stream, or none)
//   argument    bytes or a handle, by class (proto/wire/calls.h); evaluated after the call. Of calls that allocate, free or
//               pin: what they did (memory_calls.h), which holds the bytes too
//   copy        wire::CopyKind
// Parameters appear in the last three as P(name): a function's parameter in the hooks, a field of the parameter block
// in the callbacks. R(p) reads a handle that the call has written through p: 0 when it failed or p is nullptr; `succeeded`
// says which. SINCE_13(p, before) is P(p), and in the hooks, when the runtime is older than CUDA 13, its parameter `before`:
// of functions that had another form, whose hook has as many parameters as the longest.
//
// To add a call, add a line here. docs/cuda-calls.md is written from this file (tests/checks/cuda_calls_page.py).
#pragma once

// A call with a per-thread-default-stream twin (suffix _ptsz or _ptds), which has the same parameters.
#define STALLSCOPE_CUDA_TWIN(X, symbol, version, suffix, twin_version, ...) \
  X(symbol, symbol##_##version, __VA_ARGS__)                                \
  X(symbol##suffix, symbol##suffix##_##twin_version, __VA_ARGS__)

// clang-format off
#define STALLSCOPE_CUDA_SYNC_CALLS(X)                                                                                  \
  X(cudaDeviceSynchronize, cudaDeviceSynchronize_v3020, kSyncDevice, (), (), 0, 0, 0)                                  \
  STALLSCOPE_CUDA_TWIN(X, cudaStreamSynchronize, v3020, _ptsz, v7000, kSyncStream,                                     \
    (cudaStream_t stream), (stream), P(stream), 0, 0)                                                                  \
  X(cudaEventSynchronize, cudaEventSynchronize_v3020, kSyncEvent, (cudaEvent_t event), (event), 0, P(event), 0)        \
  X(cudaEventQuery, cudaEventQuery_v3020, kQueryEvent, (cudaEvent_t event), (event), 0, P(event), 0)                   \
  STALLSCOPE_CUDA_TWIN(X, cudaStreamQuery, v3020, _ptsz, v7000, kQueryStream,                                          \
    (cudaStream_t stream), (stream), P(stream), 0, 0)                                                                  \
  STALLSCOPE_CUDA_TWIN(X, cudaEventRecord, v3020, _ptsz, v7000, kEventRecord,                                          \
    (cudaEvent_t event, cudaStream_t stream), (event, stream), P(stream), P(event), 0)                                 \
  STALLSCOPE_CUDA_TWIN(X, cudaEventRecordWithFlags, v11010, _ptsz, v11010, kEventRecord,                               \
    (cudaEvent_t event, cudaStream_t stream, unsigned int flags), (event, stream, flags), P(stream), P(event), 0)      \
  STALLSCOPE_CUDA_TWIN(X, cudaStreamWaitEvent, v3020, _ptsz, v7000, kStreamWaitEvent,                                  \
    (cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags), P(stream), P(event), 0)

#define STALLSCOPE_CUDA_LAUNCH_PARAMETERS                                                                              \
  (const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, cudaStream_t stream)
#define STALLSCOPE_CUDA_LAUNCH_ARGUMENTS (func, gridDim, blockDim, args, sharedMem, stream)

#define STALLSCOPE_CUDA_LAUNCH_CALLS(X)                                                                                \
  STALLSCOPE_CUDA_TWIN(X, cudaLaunchKernel, v7000, _ptsz, v7000, kLaunch,                                              \
    STALLSCOPE_CUDA_LAUNCH_PARAMETERS, STALLSCOPE_CUDA_LAUNCH_ARGUMENTS, P(stream), 0, 0)                              \
  STALLSCOPE_CUDA_TWIN(X, cudaLaunchKernelExC, v11060, _ptsz, v11060, kLaunch,                                         \
    (const cudaLaunchConfig_t* config, const void* func, void** args), (config, func, args),                           \
    LaunchStream(P(config)), 0, 0)                                                                                     \
  STALLSCOPE_CUDA_TWIN(X, cudaLaunchCooperativeKernel, v9000, _ptsz, v9000, kLaunch,                                   \
    STALLSCOPE_CUDA_LAUNCH_PARAMETERS, STALLSCOPE_CUDA_LAUNCH_ARGUMENTS, P(stream), 0, 0)                              \
  /* what the stubs of nvcc 13 call for <<<>>> */                                                                      \
  STALLSCOPE_CUDA_TWIN(X, __cudaLaunchKernel, v13000, _ptsz, v13000, kLaunch,                                          \
    STALLSCOPE_CUDA_LAUNCH_PARAMETERS, STALLSCOPE_CUDA_LAUNCH_ARGUMENTS, P(stream), 0, 0)                              \
  STALLSCOPE_CUDA_TWIN(X, cudaLaunchHostFunc, v10000, _ptsz, v10000, kHostFunc,                                        \
    (cudaStream_t stream, cudaHostFn_t fn, void* userData), (stream, fn, userData), P(stream), 0, 0)                   \
  STALLSCOPE_CUDA_TWIN(X, cudaStreamAddCallback, v5000, _ptsz, v7000, kHostFunc,                                       \
    (cudaStream_t stream, void* callback, void* userData, unsigned int flags), (stream, callback, userData, flags),    \
    P(stream), 0, 0)                                                                                                   \
  STALLSCOPE_CUDA_TWIN(X, cudaGraphLaunch, v10000, _ptsz, v10000, kGraphLaunch,                                        \
    (cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream), P(stream), P(graphExec), 0)

#define STALLSCOPE_CUDA_COPY_CALLS(X)                                                                                  \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy, v3020, _ptds, v7000, kCopySync,                                                  \
    (void* dst, const void* src, size_t count, cudaMemcpyKind kind), (dst, src, count, kind), 0, P(count), P(kind))    \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpyAsync, v3020, _ptsz, v7000, kCopyAsync,                                            \
    (void* dst, const void* src, size_t count, cudaMemcpyKind kind, cudaStream_t stream),                              \
    (dst, src, count, kind, stream), P(stream), P(count), P(kind))                                                     \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy2D, v3020, _ptds, v7000, kCopySync,                                                \
    (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, cudaMemcpyKind kind),      \
    (dst, dpitch, src, spitch, width, height, kind), 0, P(width) * P(height), P(kind))                                 \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy2DAsync, v3020, _ptsz, v7000, kCopyAsync,                                          \
    (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, cudaMemcpyKind kind,       \
     cudaStream_t stream),                                                                                             \
    (dst, dpitch, src, spitch, width, height, kind, stream), P(stream), P(width) * P(height), P(kind))                 \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy3D, v3020, _ptds, v7000, kCopySync,                                                \
    (const cudaMemcpy3DParms* p), (p), 0, Bytes3D(P(p)), Kind3D(P(p)))                                                 \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy3DAsync, v3020, _ptsz, v7000, kCopyAsync,                                          \
    (const cudaMemcpy3DParms* p, cudaStream_t stream), (p, stream), P(stream), Bytes3D(P(p)), Kind3D(P(p)))            \
  X(cudaMemcpyPeer, cudaMemcpyPeer_v4000, kCopySync,                                                                   \
    (void* dst, int dstDevice, const void* src, int srcDevice, size_t count),                                          \
    (dst, dstDevice, src, srcDevice, count), 0, P(count), wire::CopyKind::kPeerToPeer)                                 \
  X(cudaMemcpyPeerAsync, cudaMemcpyPeerAsync_v4000, kCopyAsync,                                                        \
    (void* dst, int dstDevice, const void* src, int srcDevice, size_t count, cudaStream_t stream),                     \
    (dst, dstDevice, src, srcDevice, count, stream), P(stream), P(count), wire::CopyKind::kPeerToPeer)                 \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy3DPeer, v4000, _ptds, v7000, kCopySync,                                            \
    (const cudaMemcpy3DPeerParms* p), (p), 0, Bytes3D(P(p)), wire::CopyKind::kPeerToPeer)                              \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy3DPeerAsync, v4000, _ptsz, v7000, kCopyAsync,                                      \
    (const cudaMemcpy3DPeerParms* p, cudaStream_t stream), (p, stream), P(stream), Bytes3D(P(p)),                      \
    wire::CopyKind::kPeerToPeer)                                                                                       \
  /* CUDA 12.8 has a parameter for the index of the copy that failed: before the stream here, before the flags there */\
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpyBatchAsync, v13000, _ptsz, v13000, kCopyAsync,                                     \
    (void* const* dsts, const void* const* srcs, const size_t* sizes, size_t count, cudaMemcpyAttributes* attrs,       \
     size_t* attrsIdxs, size_t numAttrs, cudaStream_t stream, cudaStream_t cuda12_stream),                             \
    (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream, cuda12_stream),                                     \
    SINCE_13(stream, cuda12_stream), BatchBytes(P(sizes), P(count), succeeded), cudaMemcpyDefault)                     \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpy3DBatchAsync, v13000, _ptsz, v13000, kCopyAsync,                                   \
    (size_t numOps, cudaMemcpy3DBatchOp* opList, unsigned long long flags, cudaStream_t stream,                        \
     cudaStream_t cuda12_stream),                                                                                      \
    (numOps, opList, flags, stream, cuda12_stream),                                                                    \
    SINCE_13(stream, cuda12_stream), BatchBytes(P(opList), P(numOps), succeeded), cudaMemcpyDefault)                   \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpyToSymbol, v3020, _ptds, v7000, kCopySync,                                          \
    (const void* symbol, const void* src, size_t count, size_t offset, cudaMemcpyKind kind),                           \
    (symbol, src, count, offset, kind), 0, P(count), P(kind))                                                          \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpyFromSymbol, v3020, _ptds, v7000, kCopySync,                                        \
    (void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind),                                 \
    (dst, symbol, count, offset, kind), 0, P(count), P(kind))                                                          \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpyToSymbolAsync, v3020, _ptsz, v7000, kCopyAsync,                                    \
    (const void* symbol, const void* src, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream),      \
    (symbol, src, count, offset, kind, stream), P(stream), P(count), P(kind))                                          \
  STALLSCOPE_CUDA_TWIN(X, cudaMemcpyFromSymbolAsync, v3020, _ptsz, v7000, kCopyAsync,                                  \
    (void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream),            \
    (dst, symbol, count, offset, kind, stream), P(stream), P(count), P(kind))                                          \
  STALLSCOPE_CUDA_TWIN(X, cudaMemset, v3020, _ptds, v7000, kMemset,                                                    \
    (void* devPtr, int value, size_t count), (devPtr, value, count), 0, P(count), 0)                                   \
  STALLSCOPE_CUDA_TWIN(X, cudaMemsetAsync, v3020, _ptsz, v7000, kMemset,                                               \
    (void* devPtr, int value, size_t count, cudaStream_t stream), (devPtr, value, count, stream),                      \
    P(stream), P(count), 0)                                                                                            \
  STALLSCOPE_CUDA_TWIN(X, cudaMemset2D, v3020, _ptds, v7000, kMemset,                                                  \
    (void* devPtr, size_t pitch, int value, size_t width, size_t height), (devPtr, pitch, value, width, height),       \
    0, P(width) * P(height), 0)                                                                                        \
  STALLSCOPE_CUDA_TWIN(X, cudaMemset2DAsync, v3020, _ptsz, v7000, kMemset,                                             \
    (void* devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),                         \
    (devPtr, pitch, value, width, height, stream), P(stream), P(width) * P(height), 0)                                 \
  STALLSCOPE_CUDA_TWIN(X, cudaMemset3D, v3020, _ptds, v7000, kMemset,                                                  \
    (cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent), (pitchedDevPtr, value, extent),                      \
    0, Bytes3D(P(extent)), 0)                                                                                          \
  STALLSCOPE_CUDA_TWIN(X, cudaMemset3DAsync, v3020, _ptsz, v7000, kMemset,                                             \
    (cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, cudaStream_t stream),                                 \
    (pitchedDevPtr, value, extent, stream), P(stream), Bytes3D(P(extent)), 0)                                          \
  /* CUPTI tells of it as unified memory's migrations, never under its correlation id; CUDA 12 takes a device number for\
     the location, no flags */                                                                                         \
  STALLSCOPE_CUDA_TWIN(X, cudaMemPrefetchAsync, v12020, _ptsz, v12020, kOther,                                         \
    (const void* devPtr, size_t count, uint64_t location, cudaStream_t cuda12_stream, cudaStream_t stream),            \
    (devPtr, count, location, cuda12_stream, stream), SINCE_13(stream, cuda12_stream), P(count), 0)

#define STALLSCOPE_CUDA_MEMORY_CALLS(X)                                                                                \
  X(cudaMalloc, cudaMalloc_v3020, kAlloc, (void** devPtr, size_t size), (devPtr, size),                                \
    0, Allocated(kDeviceMemory, R(P(devPtr)), P(size)), 0)                                                             \
  X(cudaMallocPitch, cudaMallocPitch_v3020, kAlloc, (void** devPtr, size_t* pitch, size_t width, size_t height),       \
    (devPtr, pitch, width, height),                                                                                    \
    0, Allocated(kDeviceMemory, R(P(devPtr)), P(width) * P(height)), 0)                                                \
  X(cudaMalloc3D, cudaMalloc3D_v3020, kAlloc, (cudaPitchedPtr* pitchedDevPtr, cudaExtent extent),                      \
    (pitchedDevPtr, extent),                                                                                           \
    0, Allocated(kDeviceMemory, R(P(pitchedDevPtr)).ptr, Bytes3D(P(extent))), 0)                                       \
  X(cudaMallocManaged, cudaMallocManaged_v6000, kAlloc, (void** devPtr, size_t size, unsigned int flags),              \
    (devPtr, size, flags), 0, Allocated(kManagedMemory, R(P(devPtr)), P(size)), 0)                                     \
  STALLSCOPE_CUDA_TWIN(X, cudaMallocAsync, v11020, _ptsz, v11020, kAlloc,                                              \
    (void** devPtr, size_t size, cudaStream_t hStream), (devPtr, size, hStream),                                       \
    P(hStream), Allocated(kDeviceMemory, R(P(devPtr)), P(size)), 0)                                                    \
  STALLSCOPE_CUDA_TWIN(X, cudaMallocFromPoolAsync, v11020, _ptsz, v11020, kAlloc,                                      \
    (void** ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream), (ptr, size, memPool, stream),               \
    P(stream), Allocated(kDeviceMemory, R(P(ptr)), P(size)), 0)                                                        \
  X(cudaMemPoolTrimTo, cudaMemPoolTrimTo_v11020, kFree, (cudaMemPool_t memPool, size_t minBytesToKeep),                \
    (memPool, minBytesToKeep), 0, Trimmed(P(memPool), P(minBytesToKeep)), 0)                                           \
  X(cudaFree, cudaFree_v3020, kFree, (void* devPtr), (devPtr), 0, Freed(kDeviceMemory, P(devPtr)), 0)                  \
  STALLSCOPE_CUDA_TWIN(X, cudaFreeAsync, v11020, _ptsz, v11020, kFree,                                                 \
    (void* devPtr, cudaStream_t hStream), (devPtr, hStream), P(hStream), Freed(kDeviceMemory, P(devPtr)), 0)           \
  X(cudaMallocHost, cudaMallocHost_v3020, kHostAlloc, (void** ptr, size_t size), (ptr, size),                          \
    0, Allocated(kPinnedMemory, R(P(ptr)), P(size)), 0)                                                                \
  X(cudaHostAlloc, cudaHostAlloc_v3020, kHostAlloc, (void** pHost, size_t size, unsigned int flags),                   \
    (pHost, size, flags), 0, Allocated(kPinnedMemory, R(P(pHost)), P(size)), 0)                                        \
  X(cudaFreeHost, cudaFreeHost_v3020, kFree, (void* ptr), (ptr), 0, Freed(kPinnedMemory, P(ptr)), 0)                   \
  X(cudaHostRegister, cudaHostRegister_v4000, kHostRegister, (void* ptr, size_t size, unsigned int flags),             \
    (ptr, size, flags), 0, Pinned(P(ptr), P(size)), 0)                                                                 \
  X(cudaHostUnregister, cudaHostUnregister_v4000, kHostRegister, (void* ptr), (ptr), 0, Unpinned(P(ptr)), 0)

// cudaGraphInstantiate takes five parameters in CUDA 11 and three since 12, cudaGraphExecUpdate four and three: the
// hooks pass on as many registers as the longest form has, so that both runtimes see what their caller gave.
#define STALLSCOPE_CUDA_GRAPH_CALLS(X)                                                                                 \
  STALLSCOPE_CUDA_TWIN(X, cudaStreamBeginCapture, v10000, _ptsz, v10000, kGraphBuild,                                  \
    (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode), P(stream), 0, 0)                                \
  STALLSCOPE_CUDA_TWIN(X, cudaStreamBeginCaptureToGraph, v12030, _ptsz, v12030, kGraphBuild,                           \
    (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,                                      \
     const cudaGraphEdgeData* dependencyData, size_t numDependencies, cudaStreamCaptureMode mode),                     \
    (stream, graph, dependencies, dependencyData, numDependencies, mode), P(stream), 0, 0)                             \
  STALLSCOPE_CUDA_TWIN(X, cudaStreamEndCapture, v10000, _ptsz, v10000, kGraphBuild,                                    \
    (cudaStream_t stream, cudaGraph_t* pGraph), (stream, pGraph), P(stream), 0, 0)                                     \
  X(cudaGraphInstantiate, cudaGraphInstantiate_v12000, kGraphBuild,                                                    \
    (cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags, void* cuda11_log,                       \
     size_t cuda11_log_bytes),                                                                                         \
    (pGraphExec, graph, flags, cuda11_log, cuda11_log_bytes), 0, R(P(pGraphExec)), 0)                                  \
  X(cudaGraphInstantiateWithFlags, cudaGraphInstantiateWithFlags_v11040, kGraphBuild,                                  \
    (cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags), (pGraphExec, graph, flags),            \
    0, R(P(pGraphExec)), 0)                                                                                            \
  STALLSCOPE_CUDA_TWIN(X, cudaGraphInstantiateWithParams, v12000, _ptsz, v12000, kGraphBuild,                          \
    (cudaGraphExec_t* pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams* instantiateParams),                   \
    (pGraphExec, graph, instantiateParams), 0, R(P(pGraphExec)), 0)                                                    \
  X(cudaGraphExecUpdate, cudaGraphExecUpdate_v10020, kGraphBuild,                                                      \
    (cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, void* resultInfo, void* cuda11_result),                           \
    (hGraphExec, hGraph, resultInfo, cuda11_result), 0, P(hGraphExec), 0)                                              \
  STALLSCOPE_CUDA_TWIN(X, cudaGraphUpload, v10000, _ptsz, v10000, kGraphBuild,                                         \
    (cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream), P(stream), P(graphExec), 0)                 \
  X(cudaGraphExecDestroy, cudaGraphExecDestroy_v10000, kGraphBuild, (cudaGraphExec_t graphExec), (graphExec),          \
    0, P(graphExec), 0)

#define STALLSCOPE_CUDA_MODULE_CALLS(X)                                                                                \
  X(cudaLibraryLoadData, cudaLibraryLoadData_v12060, kModuleLoad,                                                      \
    (void* library, const void* code, void* jitOptions, void** jitOptionsValues, unsigned int numJitOptions,           \
     void* libraryOptions, void** libraryOptionValues, unsigned int numLibraryOptions),                                \
    (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,                  \
     numLibraryOptions),                                                                                               \
    0, 0, 0)                                                                                                           \
  X(cudaLibraryLoadFromFile, cudaLibraryLoadFromFile_v12060, kModuleLoad,                                              \
    (void* library, const char* fileName, void* jitOptions, void** jitOptionsValues, unsigned int numJitOptions,       \
     void* libraryOptions, void** libraryOptionValues, unsigned int numLibraryOptions),                                \
    (library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,              \
     numLibraryOptions),                                                                                               \
    0, 0, 0)
// clang-format on

#define STALLSCOPE_CUDA_RUNTIME_CALLS(X) \
  STALLSCOPE_CUDA_SYNC_CALLS(X)          \
  STALLSCOPE_CUDA_LAUNCH_CALLS(X)        \
  STALLSCOPE_CUDA_COPY_CALLS(X)          \
  STALLSCOPE_CUDA_MEMORY_CALLS(X)        \
  STALLSCOPE_CUDA_GRAPH_CALLS(X)         \
  STALLSCOPE_CUDA_MODULE_CALLS(X)

// Runtime calls that move or fill memory, allocate, or may wait, and have no row above, and why.
// X("name or names, separated by blanks", "reason")
#define STALLSCOPE_CUDA_CALLS_LEFT_ALONE(X)                                                            \
  X("cudaMallocArray cudaMalloc3DArray cudaMallocMipmappedArray cudaFreeArray cudaFreeMipmappedArray", \
    "arrays hold textures, which no inference engine uses; CUPTI's records tell of their memory")      \
  X("cudaMemcpyToArray cudaMemcpyToArrayAsync cudaMemcpyFromArray cudaMemcpyFromArrayAsync "           \
    "cudaMemcpyArrayToArray cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpy2DFromArray "       \
    "cudaMemcpy2DFromArrayAsync cudaMemcpy2DArrayToArray",                                             \
    "copies of arrays: their work is seen in CUPTI's records, without the call")                       \
  X("cudaMemPrefetchBatchAsync cudaMemDiscardBatchAsync cudaMemDiscardAndPrefetchBatchAsync",          \
    "unified memory in batches, since CUDA 13: its migrations come from CUPTI's records")              \
  X("cudaStreamAttachMemAsync", "changes who may touch managed memory; moves nothing")                 \
  X("cudaGraphicsMapResources cudaGraphicsUnmapResources cudaSignalExternalSemaphoresAsync "           \
    "cudaWaitExternalSemaphoresAsync",                                                                 \
    "shares work with graphics")                                                                       \
  X("cudaIpcGetMemHandle cudaIpcOpenMemHandle cudaIpcCloseMemHandle",                                  \
    "at set-up; maps memory that another process has")                                                 \
  X("cudaDeviceGraphMemTrim", "gives memory of graphs back; not while decoding")                       \
  X("cudaDeviceReset", "ends all work of the process")                                                 \
  X("cudaDeviceFlushGPUDirectRDMAWrites", "waits for another device's writes, not for the GPU")        \
  X("cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification", "enqueues nothing")
