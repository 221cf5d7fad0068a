// The agent brings no unwinder, no C++ library and no protobuf into the program: whatever the program asks for by name comes from
// where it came from before. Prints the library behind each name, and a backtrace.
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <unwind.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "check.h"

namespace {

const char* FileName(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

void Tell(const char* name, void* handle = RTLD_DEFAULT) {
  void* found = dlsym(handle, name);
  Dl_info info = {};
  const bool known = found != nullptr && dladdr(found, &info) != 0;
  std::printf("%-40s %s\n", name, found == nullptr ? "none" : known ? FileName(info.dli_fname) : "?");
}

_Unwind_Reason_Code CountFrame(_Unwind_Context*, void* count) {
  ++*static_cast<int*>(count);
  return _URC_NO_REASON;
}

__attribute__((noinline)) int Deep(int depth) {
  if (depth > 0) return Deep(depth - 1) + 1;
  void* addresses[64];
  int unwound = 0;
  _Unwind_Backtrace(CountFrame, &unwound);
  std::printf("backtrace %d, unwinder %d\n", backtrace(addresses, 64), unwound);
  return 0;
}

void TellAll() {
  for (const char* name :
       {"_Unwind_Resume", "_Unwind_Backtrace", "_Unwind_RaiseException", "__cxa_throw", "__gxx_personality_v0", "_Znwm",
        "backtrace", "unw_backtrace", "_ULx86_64_step", "malloc", "free", "dlsym", "dlopen", "dl_iterate_phdr",
        "memcpy", "strlen", "__cxa_atexit", "vfork", "pthread_self"}) {
    Tell(name);
  }
}

void* WaitsOften(void* unused) {
  for (int i = 0; i < 100; ++i) sleep_ms(2);
  return unused;
}

}  // namespace

int main() {
  TellAll();
  // By the end of these waits the agent has opened what it needs for their stacks: still nothing of it is the program's.
  pthread_t thread;
  pthread_create(&thread, nullptr, WaitsOften, nullptr);
  pthread_join(thread, nullptr);
  TellAll();
  for (const char* library : {"libunwind.so.8", "libprotobuf.so.32", "libstdc++.so.6", "libgcc_s.so.1"}) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    std::printf("%s: %s\n", library, handle != nullptr ? "there" : "not there");
    if (handle == nullptr) continue;
    Tell("unw_backtrace", handle);
    Tell("_Unwind_Resume", handle);
    Tell("_ZN6google8protobuf11MessageLiteD2Ev", handle);
  }
  Deep(20);
  int caught = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      throw std::runtime_error("thrown " + std::to_string(i));
    } catch (const std::exception& error) {
      caught += std::strncmp(error.what(), "thrown ", 7) == 0;
    }
  }
  std::printf("caught %d\n", caught);
  return 0;
}
