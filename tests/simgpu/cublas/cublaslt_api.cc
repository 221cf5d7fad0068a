// libcublasLt.so.13: here so that programs which look for the file find it. Creating a handle works; nothing else
// exists.
#define SIMGPU_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
int handle_target;
}  // namespace

SIMGPU_EXPORT int cublasLtCreate(void** handle) {
  *handle = &handle_target;
  return 0;
}
SIMGPU_EXPORT int cublasLtDestroy(void*) { return 0; }
SIMGPU_EXPORT unsigned long cublasLtGetVersion() { return 130000; }
