// Attributes of device functions, and occupancy by threads and shared memory alone: registers are not modelled.
#include <algorithm>
#include <cstring>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

constexpr int kMaxThreads = 2048, kMaxBlocks = 32;  // of a multiprocessor
constexpr size_t kSharedBytes = 228 << 10;          // of a multiprocessor
constexpr int kOptInSharedBytes = 227 << 10;        // of a block
constexpr size_t kReservedSharedBytes = 1 << 10;    // of a block, for the system
constexpr int kPortableClusterBlocks = 8;

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  if (FindKernel(function) == nullptr) return cudaErrorInvalidDeviceFunction;
  std::memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = kOptInSharedBytes;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int) {
  return FindKernel(function) == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  *name = KernelName(function);
  return *name == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  const Kernel* kernel = FindKernel(symbol);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  *function = reinterpret_cast<cudaFunction_t>(const_cast<Kernel*>(kernel));
  return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* entry) { return runtime::__cudaGetKernel(kernel, entry); }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int block_threads,
                                                                   size_t shared_bytes, unsigned int) {
  if (blocks == nullptr || block_threads <= 0) return cudaErrorInvalidValue;
  int fit = std::min(kMaxBlocks, kMaxThreads / block_threads);
  if (shared_bytes != 0) fit = std::min(fit, static_cast<int>(kSharedBytes / shared_bytes));
  *blocks = fit;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_threads,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_threads, shared_bytes, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void*, int blocks, int) {
  if (bytes == nullptr || blocks <= 0) return cudaErrorInvalidValue;
  const size_t share = kSharedBytes / static_cast<size_t>(blocks);
  *bytes = std::min<size_t>(share > kReservedSharedBytes ? share - kReservedSharedBytes : 0, kOptInSharedBytes);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* cluster_blocks, const void*, const cudaLaunchConfig_t*) {
  if (cluster_blocks == nullptr) return cudaErrorInvalidValue;
  *cluster_blocks = kPortableClusterBlocks;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* config) {
  if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
  unsigned cluster_blocks = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
    const auto& dimension = config->attrs[i].val.clusterDim;
    cluster_blocks = dimension.x * dimension.y * dimension.z;
  }
  int blocks = 0;
  const auto threads = static_cast<int>(config->blockDim.x * config->blockDim.y * config->blockDim.z);
  const cudaError_t error =
      runtime::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, config->dynamicSmemBytes);
  if (error != cudaSuccess) return error;
  const uint64_t all = static_cast<uint64_t>(blocks) * Simulator::Get().config().sm_count;
  *clusters = static_cast<int>(all / std::max(cluster_blocks, 1u));
  return cudaSuccess;
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute, int, int device) {
  if (!ValidOrdinal(device)) return cudaErrorInvalidDevice;
  return FindKernel(kernel) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

}  // namespace simgpu::runtime
