// Attributes of streams and of graph nodes (access policy, priority, synchronisation policy): kept, without effect.
#include <map>
#include <mutex>
#include <utility>

#include "runtime_impl.h"
#include "tests/simgpu/runtime/entry.h"

namespace simgpu::runtime {
namespace {

using Key = std::pair<const void*, int>;  // a stream or node, and the attribute
struct Attributes {
  std::mutex mutex;  // guards `values`
  std::map<Key, cudaLaunchAttributeValue> values;
};

Attributes& All() {
  static auto* attributes = new Attributes;
  return *attributes;
}

cudaError_t Set(const void* owner, int attribute, const cudaLaunchAttributeValue* value) {
  if (value == nullptr) return cudaErrorInvalidValue;
  std::lock_guard lock(All().mutex);
  All().values[{owner, attribute}] = *value;
  return cudaSuccess;
}

cudaError_t Get(const void* owner, int attribute, cudaLaunchAttributeValue* value) {
  if (value == nullptr) return cudaErrorInvalidValue;
  std::lock_guard lock(All().mutex);
  const auto found = All().values.find({owner, attribute});
  *value = found == All().values.end() ? cudaLaunchAttributeValue{} : found->second;
  return cudaSuccess;
}

cudaError_t Copy(const void* to, const void* from) {
  std::lock_guard lock(All().mutex);
  std::map<Key, cudaLaunchAttributeValue> copied;
  for (const auto& [key, value] : All().values) {
    if (key.first == from) copied[{to, key.second}] = value;
  }
  for (const auto& [key, value] : copied) All().values[key] = value;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  return Set(FindStream(stream), attribute, value);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  if (value != nullptr && attribute == cudaLaunchAttributePriority) {
    value->priority = FindStream(handle)->priority();
    return cudaSuccess;
  }
  return Get(FindStream(handle), attribute, value);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return Copy(FindStream(to), FindStream(from));
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue* value) {
  return Set(node, attribute, value);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  return Get(node, attribute, value);
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) { return Copy(to, from); }

}  // namespace simgpu::runtime
