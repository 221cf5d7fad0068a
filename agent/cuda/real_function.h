// The functions that the program would have called without us, found at their first use.
#pragma once

#include <atomic>

#include "agent/entry/lifecycle.h"

namespace stallscope::agent {

// libcudart may come late (dlopen, RTLD_LOCAL), so nothing is looked up before its first call, and a failed search is
// repeated. A process with two runtimes of different majors gets the first one in load order for both.
inline void* RealFunction(std::atomic<void*>* cached, const char* name, const char* library = "libcudart.so") noexcept {
  void* function = cached->load(std::memory_order_relaxed);
  if (__builtin_expect(function != nullptr, 1)) return function;
  function = ResolveNext(name, nullptr, library);
  cached->store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace stallscope::agent
