// The simulated device as the programs see it: an H200-like part. One table for cudaGetDeviceProperties,
// cudaDeviceGetAttribute and cuDeviceGetAttribute.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_DEVICE_PROPERTIES_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_DEVICE_PROPERTIES_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

#include "tests/simgpu/core/config.h"

namespace simgpu {

// What does not depend on the configuration. The struct that programs get (cudaDeviceProp) differs between CUDA 12 and
// 13, so each runtime fills its own from this.
inline constexpr char kDeviceName[] = "Simulated GPU (H200-like)";

struct DeviceModel {
  static constexpr size_t kSharedBytesPerBlock = 48 << 10;
  static constexpr size_t kSharedBytesPerBlockOptIn = 227 << 10;
  static constexpr size_t kSharedBytesPerMultiprocessor = 228 << 10;
  static constexpr size_t kReservedSharedBytesPerBlock = 1 << 10;
  static constexpr int kRegisters = 65536;
  static constexpr int kWarpThreads = 32;
  static constexpr int kMaxPitchBytes = 0x7fffffff;
  static constexpr int kMaxThreadsPerBlock = 1024;
  static constexpr int kMaxBlockZ = 64;
  static constexpr int kMaxGridX = 0x7fffffff;
  static constexpr int kMaxGridYZ = 65535;
  static constexpr size_t kConstantBytes = 64 << 10;
  static constexpr int kMajor = 9, kMinor = 0;
  static constexpr size_t kTextureAlignment = 512, kTexturePitchAlignment = 32;
  static constexpr int kFirstPciBus = 0x10;
  static constexpr int kCopyEngines = 2;
  static constexpr int kMemoryBusBits = 6144;
  static constexpr int kL2Bytes = 60 << 20;
  static constexpr int kThreadsPerMultiprocessor = 2048;
  static constexpr int kBlocksPerMultiprocessor = 32;
  static constexpr int kClockKhz = 1'980'000, kMemoryClockKhz = 3'201'000;
};

// Attributes share their numbers between runtime and driver API and between CUDA 12 and 13. What is not modelled reads 0.
int DeviceAttribute(const Config& config, int ordinal, int attribute);
// 16 bytes, not terminated.
void DeviceUuid(int ordinal, char* bytes);

// In the layout of the headers that the including file is compiled with.
inline cudaDeviceProp DeviceProperties(const Config& config, int ordinal) {
  cudaDeviceProp p;
  std::memset(&p, 0, sizeof p);
  std::strncpy(p.name, kDeviceName, sizeof p.name - 1);
  DeviceUuid(ordinal, p.uuid.bytes);
  p.totalGlobalMem = config.MemoryBytes();
  p.sharedMemPerBlock = DeviceModel::kSharedBytesPerBlock;
  p.sharedMemPerBlockOptin = DeviceModel::kSharedBytesPerBlockOptIn;
  p.sharedMemPerMultiprocessor = DeviceModel::kSharedBytesPerMultiprocessor;
  p.reservedSharedMemPerBlock = DeviceModel::kReservedSharedBytesPerBlock;
  p.regsPerBlock = p.regsPerMultiprocessor = DeviceModel::kRegisters;
  p.warpSize = DeviceModel::kWarpThreads;
  p.memPitch = DeviceModel::kMaxPitchBytes;
  p.maxThreadsPerBlock = DeviceModel::kMaxThreadsPerBlock;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = DeviceModel::kMaxThreadsPerBlock;
  p.maxThreadsDim[2] = DeviceModel::kMaxBlockZ;
  p.maxGridSize[0] = DeviceModel::kMaxGridX;
  p.maxGridSize[1] = p.maxGridSize[2] = DeviceModel::kMaxGridYZ;
  p.totalConstMem = DeviceModel::kConstantBytes;
  p.major = DeviceModel::kMajor;
  p.minor = DeviceModel::kMinor;
  p.textureAlignment = DeviceModel::kTextureAlignment;
  p.texturePitchAlignment = DeviceModel::kTexturePitchAlignment;
  p.multiProcessorCount = static_cast<int>(config.sm_count);
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.ECCEnabled = 1;
  p.pciBusID = DeviceModel::kFirstPciBus + ordinal;
  p.asyncEngineCount = DeviceModel::kCopyEngines;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = DeviceModel::kMemoryBusBits;
  p.l2CacheSize = DeviceModel::kL2Bytes;
  p.maxThreadsPerMultiProcessor = DeviceModel::kThreadsPerMultiprocessor;
  p.maxBlocksPerMultiProcessor = DeviceModel::kBlocksPerMultiprocessor;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.managedMemory = p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.clusterLaunch = 1;
  p.unifiedFunctionPointers = 1;
#if CUDART_VERSION < 13000
  p.clockRate = DeviceModel::kClockKhz;
  p.memoryClockRate = DeviceModel::kMemoryClockKhz;
  p.deviceOverlap = 1;
#endif
  return p;
}

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_DEVICE_PROPERTIES_H_
