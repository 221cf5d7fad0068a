// Device-side variables (`__device__`, `__constant__`): each gets its own piece of device memory.
#ifndef STALLSCOPE_TESTS_SIMGPU_RUNTIME_SYMBOLS_H_
#define STALLSCOPE_TESTS_SIMGPU_RUNTIME_SYMBOLS_H_

#include <cstddef>

namespace simgpu::runtime {

struct Symbol {
  void* address = nullptr;
  size_t bytes = 0;
};

void RegisterSymbol(const void* host_variable, size_t bytes);
Symbol FindSymbol(const void* host_variable);  // null address: never registered

}  // namespace simgpu::runtime

#endif  // STALLSCOPE_TESTS_SIMGPU_RUNTIME_SYMBOLS_H_
