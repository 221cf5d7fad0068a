// Green contexts: a share of the multiprocessors under a handle. Their streams are streams of the device; kernels take the
// time that they take anywhere.
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "driver_impl.h"
#include "runtime_impl.h"
#include "tests/simgpu/core/trace.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {
namespace {

constexpr unsigned int kSmallestShare = 8;

struct Descriptor {
  unsigned int multiprocessors;
};
struct Green {
  GreenContext context;
  Device* device;
};

struct Table {
  std::mutex mutex;  // guards what follows
  std::unordered_map<CUdevResourceDesc, std::unique_ptr<Descriptor>> descriptors;
  std::unordered_map<CUgreenCtx, std::unique_ptr<Green>> contexts;
};
Table& Known() {
  static auto* table = new Table;
  return *table;
}
std::atomic<uint32_t> next_context_id{1000};

}  // namespace

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  if (resource == nullptr || type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  *resource = {};
  resource->type = CU_DEV_RESOURCE_TYPE_SM;
  resource->sm.smCount = static_cast<unsigned int>(Simulator::Get().config().sm_count);
  return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* groups, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned int, unsigned int least) {
  if (groups == nullptr || input == nullptr || input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  const unsigned int share = (std::max(least, 1u) + kSmallestShare - 1) / kSmallestShare * kSmallestShare;
  const unsigned int possible = input->sm.smCount / share;
  if (result == nullptr) {
    *groups = possible;
    return CUDA_SUCCESS;
  }
  *groups = std::min(*groups, possible);
  for (unsigned int i = 0; i < *groups; ++i) {
    result[i] = *input;
    result[i].sm.smCount = share;
  }
  if (remaining != nullptr) {
    *remaining = *input;
    remaining->sm.smCount = input->sm.smCount - *groups * share;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* descriptor, CUdevResource* resources, unsigned int count) {
  if (descriptor == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<Descriptor>();
  made->multiprocessors = 0;
  for (unsigned int i = 0; i < count; ++i) made->multiprocessors += resources[i].sm.smCount;
  *descriptor = reinterpret_cast<CUdevResourceDesc>(made.get());
  std::lock_guard lock(Known().mutex);
  Known().descriptors[*descriptor] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc descriptor, CUdevice device, unsigned int flags) {
  if (context == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  if (!ValidOrdinal(device)) return CUDA_ERROR_INVALID_DEVICE;
  auto green = std::make_unique<Green>();
  {
    std::lock_guard lock(Known().mutex);
    const auto found = Known().descriptors.find(descriptor);
    if (found == Known().descriptors.end()) return CUDA_ERROR_INVALID_VALUE;
    green->context = {next_context_id.fetch_add(1), static_cast<uint32_t>(device), found->second->multiprocessors};
    green->device = Simulator::Get().device(device);
    *context = reinterpret_cast<CUgreenCtx>(green.get());
  }
  if (const TraceHooks* hooks = Hooks()) hooks->green_context_created(green->context);
  std::lock_guard lock(Known().mutex);
  Known().contexts[*context] = std::move(green);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx context) {
  std::lock_guard lock(Known().mutex);
  return Known().contexts.erase(context) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  std::lock_guard lock(Known().mutex);
  const auto found = Known().contexts.find(green);
  if (context == nullptr || found == Known().contexts.end()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = reinterpret_cast<CUcontext>(found->second->device);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx green, unsigned int flags, int priority) {
  {
    std::lock_guard lock(Known().mutex);
    if (!Known().contexts.contains(green)) return CUDA_ERROR_INVALID_CONTEXT;
  }
  return AsResult(runtime::cudaStreamCreateWithPriority(stream, flags, priority));
}

}  // namespace simgpu::driver
