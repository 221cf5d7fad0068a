// Tells NVTX's header where its tool is, without touching the environment.
//
// The header asks getenv("NVTX_INJECTION64_PATH") once in each library that uses it. Setting the variable would show in
// the program's environment and in every child's; answering this one question does not (docs/decisions/0006). A value
// that the user or another tool has set is left alone.
#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "agent/entry/real_calls.h"
#include "agent/hot/recorder.h"
#include "agent/nvtx/previous_tool.h"

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

namespace stallscope::agent {
namespace {

constexpr char kVariable[] = "NVTX_INJECTION64_PATH";

// The configured tool has the entry point of NVTX 1 alone. libnvToolsExt.so.1 (NVTX 2, CUDA 11 and 12) serves both, but
// only one of them, and what it hands to the older one is documented nowhere: such a tool cannot be called on by us.
constinit std::atomic<bool> g_only_version_1{false};

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

NvtxInitializeInjectionNvtxFunc_t FindPreviousTool() noexcept {
  static std::atomic<void*> found{nullptr};
  static std::atomic<bool> looked{false};
  if (!looked.load(std::memory_order_acquire)) {
    const char* path = STALLSCOPE_REAL(getenv)(kVariable);
    const char* own = OwnPath();
    void* tool = path == nullptr || *path == '\0' || (own != nullptr && strcmp(path, own) == 0)
                     ? nullptr
                     : dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    void* entry = tool == nullptr ? nullptr : dlsym(tool, "InitializeInjectionNvtx2");
    if (entry == reinterpret_cast<void*>(&InitializeInjectionNvtx2)) entry = nullptr;
    if (tool != nullptr && entry == nullptr && dlsym(tool, "InitializeInjectionNvtx") != nullptr) {
      g_only_version_1.store(true, std::memory_order_relaxed);
    }
    found.store(entry, std::memory_order_release);
    looked.store(true, std::memory_order_release);
  }
  return reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(found.load(std::memory_order_acquire));
}

}  // namespace stallscope::agent

extern "C" __attribute__((visibility("default"))) char* stallscope_hook_getenv(const char* name) __asm__("getenv");
extern "C" char* stallscope_hook_getenv(const char* name) {
  namespace agent = stallscope::agent;
  auto* real = STALLSCOPE_REAL(getenv);
  if (__builtin_expect(real == nullptr, 0)) return nullptr;  // early, and no way was found
  char* value = real(name);
  // In this order: early (entry/early_calls.h) nothing is recorded, and strcmp cannot be called.
  if (name[0] != 'N' || !agent::Recording() || strcmp(name, agent::kVariable) != 0) return value;
  // The other tool was there first: without its entry point in the newer form the agent stays away from NVTX.
  if (value != nullptr) agent::FindPreviousTool();
  if (agent::g_only_version_1.load(std::memory_order_relaxed)) return value;
  char* own = agent::OwnPath();
  return own != nullptr ? own : value;
}
