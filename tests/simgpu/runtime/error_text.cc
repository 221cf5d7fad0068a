// Names and texts of errors: the functions whose result is not an error, so they have no generated wrapper.
#include <cuda_runtime_api.h>

#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

SIMGPU_EXPORT const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SIMGPU_NAME(name) \
  case name:              \
    return #name
    SIMGPU_NAME(cudaSuccess);
    SIMGPU_NAME(cudaErrorInvalidValue);
    SIMGPU_NAME(cudaErrorMemoryAllocation);
    SIMGPU_NAME(cudaErrorInvalidConfiguration);
    SIMGPU_NAME(cudaErrorMissingConfiguration);
    SIMGPU_NAME(cudaErrorInvalidSymbol);
    SIMGPU_NAME(cudaErrorInvalidDeviceFunction);
    SIMGPU_NAME(cudaErrorInvalidDevice);
    SIMGPU_NAME(cudaErrorInvalidResourceHandle);
    SIMGPU_NAME(cudaErrorIllegalState);
    SIMGPU_NAME(cudaErrorNotReady);
    SIMGPU_NAME(cudaErrorHostMemoryAlreadyRegistered);
    SIMGPU_NAME(cudaErrorHostMemoryNotRegistered);
    SIMGPU_NAME(cudaErrorNotSupported);
    SIMGPU_NAME(cudaErrorStreamCaptureUnsupported);
    SIMGPU_NAME(cudaErrorStreamCaptureUnmatched);
    SIMGPU_NAME(cudaErrorStreamCaptureUnjoined);
    SIMGPU_NAME(cudaErrorStreamCaptureInvalidated);
    SIMGPU_NAME(cudaErrorStreamCaptureImplicit);
    SIMGPU_NAME(cudaErrorGraphExecUpdateFailure);
    SIMGPU_NAME(cudaErrorPeerAccessAlreadyEnabled);
    SIMGPU_NAME(cudaErrorPeerAccessNotEnabled);
    SIMGPU_NAME(cudaErrorInvalidPitchValue);
    SIMGPU_NAME(cudaErrorSymbolNotFound);
    SIMGPU_NAME(cudaErrorInvalidKernelImage);
    SIMGPU_NAME(cudaErrorInsufficientDriver);
    SIMGPU_NAME(cudaErrorOperatingSystem);
    SIMGPU_NAME(cudaErrorFileNotFound);
#undef SIMGPU_NAME
    default:
      return "cudaErrorUnknown";
  }
}

SIMGPU_EXPORT const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory (simulated GPU)";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorNotSupported:
      return "operation not supported by the simulated GPU";
    default:
      return cudaGetErrorName(error);
  }
}

SIMGPU_EXPORT cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                    cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
