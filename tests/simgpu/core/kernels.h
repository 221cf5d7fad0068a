// The device functions that programs and libraries registered.
//
// Any thread. Look-ups by host address (cudaLaunchKernel) take a shared lock; launches by handle take none.
#ifndef STALLSCOPE_TESTS_SIMGPU_CORE_KERNELS_H_
#define STALLSCOPE_TESTS_SIMGPU_CORE_KERNELS_H_

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tests/simgpu/core/work.h"

namespace simgpu {

class KernelTable {
 public:
  // The kernel registered for the address of its host stub. A name registered twice keeps its first kernel.
  const Kernel* Register(const void* host_function, std::string_view mangled_name);
  // A kernel that only has a name, as library calls (cuBLAS) launch.
  const Kernel* Named(std::string_view name);
  const Kernel* FindByHostFunction(const void* host_function) const;  // null: never registered
  const void* HostFunctionOf(const Kernel* kernel) const;             // null: it has none
  bool IsKernel(const void* handle) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> by_name_;
  std::unordered_map<const void*, Kernel*> by_host_function_;
  std::unordered_map<const void*, Kernel*> handles_;
};

}  // namespace simgpu

#endif  // STALLSCOPE_TESTS_SIMGPU_CORE_KERNELS_H_
