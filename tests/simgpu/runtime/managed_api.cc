// Advice about managed memory and its movement. Memory is one here: advice is kept for who asks, and a prefetch takes
// the time of the copy on its stream.
#include <map>
#include <mutex>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/copies.h"
#include "tests/simgpu/runtime/entry.h"
#include "tests/simgpu/runtime/forms.h"

namespace simgpu::runtime {
namespace {

constexpr int kInvalidDevice = -2;  // cudaInvalidDeviceId

struct Advice {
  bool read_mostly = false;
  cudaMemLocation preferred{cudaMemLocationTypeInvalid, 0}, prefetched{cudaMemLocationTypeInvalid, 0};
};
struct AdviceTable {
  std::mutex mutex;                  // guards `of`
  std::map<const void*, Advice> of;  // by begin of the range that was named
};

AdviceTable& Table() {
  static auto* table = new AdviceTable;
  return *table;
}

int AsDevice(cudaMemLocation location) {
  if (location.type == cudaMemLocationTypeDevice) return location.id;
  return location.type == cudaMemLocationTypeInvalid ? kInvalidDevice : cudaCpuDeviceId;
}

bool Managed(const void* pointer) { return Simulator::Get().memory().KindOf(pointer) == MemoryKind::kManaged; }

}  // namespace

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
  if (bytes == 0 || !Managed(pointer)) return cudaErrorInvalidValue;
  std::lock_guard lock(Table().mutex);
  Advice& known = Table().of[pointer];
  if (advice == cudaMemAdviseSetReadMostly) known.read_mostly = true;
  if (advice == cudaMemAdviseUnsetReadMostly) known.read_mostly = false;
  if (advice == cudaMemAdviseSetPreferredLocation) known.preferred = location;
  if (advice == cudaMemAdviseUnsetPreferredLocation) known.preferred = {cudaMemLocationTypeInvalid, 0};
  return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream) {
  if (flags != 0 || bytes == 0 || !Managed(pointer)) return cudaErrorInvalidValue;
  {
    std::lock_guard lock(Table().mutex);
    Table().of[pointer].prefetched = location;
  }
  // The pages move over the bus, onto themselves.
  CopyWork copy = MakeCopy(const_cast<void*>(pointer), bytes, pointer, bytes, bytes, 1);
  copy.asynchronous = true;
  const bool to_device = location.type == cudaMemLocationTypeDevice;
  copy.source_kind = to_device ? MemoryKind::kPinned : MemoryKind::kDevice;
  copy.destination_kind = to_device ? MemoryKind::kDevice : MemoryKind::kPinned;
  Simulator::Get().Submit(FindStream(stream), copy);
  return cudaSuccess;
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t data_bytes, cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t) {
  if (data == nullptr || data_bytes < sizeof(int) || !Managed(pointer)) return cudaErrorInvalidValue;
  std::lock_guard lock(Table().mutex);
  const auto known = Table().of.find(pointer);
  const Advice advice = known == Table().of.end() ? Advice{} : known->second;
  switch (attribute) {
    case cudaMemRangeAttributeReadMostly:
      *static_cast<int*>(data) = advice.read_mostly;
      return cudaSuccess;
    case cudaMemRangeAttributePreferredLocation:
      *static_cast<int*>(data) = AsDevice(advice.preferred);
      return cudaSuccess;
    case cudaMemRangeAttributeLastPrefetchLocation:
      *static_cast<int*>(data) = AsDevice(advice.prefetched);
      return cudaSuccess;
    default:
      return NotSupported("cudaMemRangeGetAttribute of that attribute");
  }
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* bytes, cudaMemRangeAttribute* attributes, size_t count,
                                      const void* pointer, size_t range_bytes) {
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error = runtime::cudaMemRangeGetAttribute(data[i], bytes[i], attributes[i], pointer, range_bytes);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void* pointer, size_t, unsigned int) {
  return Managed(pointer) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace simgpu::runtime
