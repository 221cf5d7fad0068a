// Tells NVTX's header where its tool is, without touching the environment.
//
// The header asks getenv("NVTX_INJECTION64_PATH") once in each library that uses it. Setting the variable would show in
// the program's environment and in every child's; answering this one question does not (docs/decisions/0006). A value
// that the user or another tool has set is left alone.
#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "agent/entry/lifecycle.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr char kVariable[] = "NVTX_INJECTION64_PATH";

std::atomic<void*> g_real_getenv{nullptr};

char* RealGetenv(const char* name) noexcept {
  void* real = g_real_getenv.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = ResolveNext("getenv", nullptr, "libc.so.6");
    if (real == nullptr) return nullptr;
    g_real_getenv.store(real, std::memory_order_relaxed);
  }
  return reinterpret_cast<char* (*)(const char*)>(real)(name);
}

// The agent's own path; nullptr when the loader cannot tell.
char* OwnPath() noexcept {
  static char path[4096];
  if (path[0] != '\0') return path;
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&OwnPath), &info) == 0 || info.dli_fname == nullptr) return nullptr;
  const size_t length = strnlen(info.dli_fname, sizeof(path));
  if (length == sizeof(path)) return nullptr;
  // Backwards, so that a second thread finds either nothing or everything.
  for (size_t i = length + 1; i-- > 0;) static_cast<volatile char*>(path)[i] = info.dli_fname[i];
  return path;
}

}  // namespace
}  // namespace stallscope::agent

extern "C" __attribute__((visibility("default"))) char* stallscope_hook_getenv(const char* name) __asm__("getenv");
extern "C" char* stallscope_hook_getenv(const char* name) {
  namespace agent = stallscope::agent;
  char* value = agent::RealGetenv(name);
  if (value != nullptr || name[0] != 'N' || strcmp(name, agent::kVariable) != 0) return value;
  if (!agent::Recording()) return nullptr;
  return agent::OwnPath();
}
