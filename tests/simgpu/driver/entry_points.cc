#include "tests/simgpu/driver/entry_points.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "driver_impl.h"
#include "tests/simgpu/driver/entry.h"

namespace simgpu::driver {
namespace {

void* Exported(const std::string& name) {
  // This library alone, not what lies before it in the search order.
  static void* self = [] {
    Dl_info info;
    dladdr(reinterpret_cast<const void*>(&kEntryPoints), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return dlsym(self, name.c_str());
}

// The newest form that the version knows; null: the function is younger than the version, or unknown.
const EntryPoint* FindForm(const char* symbol, int version, bool* known) {
  const EntryPoint* best = nullptr;
  for (unsigned i = 0; i < kEntryPointCount; ++i) {
    const EntryPoint& form = kEntryPoints[i];
    if (std::strcmp(form.function, symbol) != 0) continue;
    *known = true;
    if (form.since_version <= version && (best == nullptr || form.since_version > best->since_version)) best = &form;
  }
  return best;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  bool known = false;
  if (const EntryPoint* form = FindForm(symbol, version, &known)) {
    if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) {
      for (const char* suffix : {"_ptsz", "_ptds"}) {
        if (*function == nullptr) *function = Exported(std::string(form->exported) + suffix);
      }
    }
    if (*function == nullptr) *function = Exported(form->exported);
  }
  if (status != nullptr) {
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known              ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return driver::cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

}  // namespace simgpu::driver
