#include "tests/simgpu/core/device_properties.h"

#include <cuda_runtime_api.h>

#include <cstring>

namespace simgpu {

void DeviceUuid(int ordinal, char* bytes) {
  std::memcpy(bytes, "simulated-gpu-00", 16);
  bytes[15] = static_cast<char>('0' + ordinal);
}

int DeviceAttribute(const Config& config, int ordinal, int attribute) {
  constexpr int kVirtualMemoryManagementSupported = 102;  // driver only: CU_DEVICE_ATTRIBUTE_...
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return DeviceModel::kMaxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return DeviceModel::kMaxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimZ:
      return DeviceModel::kMaxBlockZ;
    case cudaDevAttrMaxGridDimX:
      return DeviceModel::kMaxGridX;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return DeviceModel::kMaxGridYZ;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(DeviceModel::kSharedBytesPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(DeviceModel::kConstantBytes);
    case cudaDevAttrWarpSize:
      return DeviceModel::kWarpThreads;
    case cudaDevAttrMaxPitch:
      return DeviceModel::kMaxPitchBytes;
    case cudaDevAttrMaxRegistersPerBlock:
      return DeviceModel::kRegisters;
    case cudaDevAttrClockRate:
      return DeviceModel::kClockKhz;
    case cudaDevAttrMemoryClockRate:
      return DeviceModel::kMemoryClockKhz;
    case cudaDevAttrTextureAlignment:
      return static_cast<int>(DeviceModel::kTextureAlignment);
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrIpcEventSupport:
    case kVirtualMemoryManagementSupported:
      return 1;
    case cudaDevAttrMultiProcessorCount:
      return static_cast<int>(config.sm_count);
    case cudaDevAttrPciBusId:
      return DeviceModel::kFirstPciBus + ordinal;
    case cudaDevAttrAsyncEngineCount:
      return DeviceModel::kCopyEngines;
    case cudaDevAttrGlobalMemoryBusWidth:
      return DeviceModel::kMemoryBusBits;
    case cudaDevAttrL2CacheSize:
      return DeviceModel::kL2Bytes;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return DeviceModel::kThreadsPerMultiprocessor;
    case cudaDevAttrComputeCapabilityMajor:
      return DeviceModel::kMajor;
    case cudaDevAttrComputeCapabilityMinor:
      return DeviceModel::kMinor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(DeviceModel::kSharedBytesPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return DeviceModel::kRegisters;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(DeviceModel::kSharedBytesPerBlockOptIn);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return DeviceModel::kBlocksPerMultiprocessor;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(DeviceModel::kReservedSharedBytesPerBlock);
    default:
      return 0;
  }
}

}  // namespace simgpu
