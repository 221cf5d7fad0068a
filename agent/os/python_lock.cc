#include "agent/os/python_lock.h"

#include "agent/entry/lifecycle.h"

namespace stallscope::agent {

constinit std::atomic<uint64_t> g_python_runtime{0}, g_python_runtime_bytes{0};

void LookForPython() noexcept {
  if (g_python_runtime_bytes.load(std::memory_order_relaxed) != 0 || IsForkedChild()) return;
  uint64_t bytes = 0;
  const void* runtime = FindVariable("_PyRuntime", &bytes);
  if (runtime == nullptr) return;
  g_python_runtime.store(reinterpret_cast<uintptr_t>(runtime), std::memory_order_relaxed);
  g_python_runtime_bytes.store(bytes, std::memory_order_relaxed);
}

}  // namespace stallscope::agent
