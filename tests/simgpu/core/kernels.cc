#include "tests/simgpu/core/kernels.h"

#include <mutex>
#include <utility>

namespace simgpu {

const Kernel* KernelTable::Named(std::string_view name) {
  {
    std::shared_lock lock(mutex_);
    if (auto found = by_name_.find(name); found != by_name_.end()) return found->second.get();
  }
  std::lock_guard lock(mutex_);
  auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second.get();
  auto created = std::make_unique<Kernel>();
  created->name = std::string(name);
  Kernel* kernel = created.get();
  by_name_.emplace(kernel->name, std::move(created));
  handles_.emplace(kernel, kernel);
  return kernel;
}

const Kernel* KernelTable::Register(const void* host_function, std::string_view mangled_name) {
  const Kernel* kernel = Named(mangled_name);
  std::lock_guard lock(mutex_);
  by_host_function_.insert_or_assign(host_function, const_cast<Kernel*>(kernel));
  return kernel;
}

const Kernel* KernelTable::FindByHostFunction(const void* host_function) const {
  std::shared_lock lock(mutex_);
  auto found = by_host_function_.find(host_function);
  return found == by_host_function_.end() ? nullptr : found->second;
}

const void* KernelTable::HostFunctionOf(const Kernel* kernel) const {
  std::shared_lock lock(mutex_);
  for (const auto& [host_function, known] : by_host_function_) {
    if (known == kernel) return host_function;
  }
  return nullptr;
}

bool KernelTable::IsKernel(const void* handle) const {
  std::shared_lock lock(mutex_);
  return handles_.contains(handle);
}

}  // namespace simgpu
