#include "agent/cupti/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cupti/text.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/loader_use.h"

namespace stallscope::agent {
namespace {

constexpr size_t kPathBytes = 1024;

struct Search {
  const char* prefix;  // of the file name
  char path[kPathBytes];
};

const char* FileName(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

int Match(dl_phdr_info* info, size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  if (info->dlpi_name == nullptr || strncmp(FileName(info->dlpi_name), search->prefix, strlen(search->prefix)) != 0)
    return 0;
  Text(search->path, sizeof(search->path)).Add(info->dlpi_name);
  return 1;
}

bool FindMapped(const char* prefix, Search* search) {
  search->prefix = prefix;
  search->path[0] = '\0';
  return dl_iterate_phdr(Match, search) != 0;
}

// "13" of "libcudart.so.13", "11" of "libcudart.so.11.0"; empty when the name ends before a number.
void MajorOf(const char* file_name, char* major, size_t major_bytes) {
  const char* digits = strstr(file_name, ".so.");
  Text text(major, major_bytes);
  if (digits == nullptr) return;
  for (digits += 4; *digits >= '0' && *digits <= '9'; ++digits) text.AddChar(*digits);
}

void* TryOpen(const char* directory, size_t directory_bytes, const char* middle, const char* name) {
  char path[kPathBytes];
  Text(path, sizeof(path)).AddBytes(directory, directory_bytes).Add(middle).Add(name);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// Where CUPTI lies relative to libcudart: the same folder (wheels of CUDA 13, toolkits), the neighbouring wheel (CUDA
// 11 and 12), the toolkit's extras.
constexpr const char* kNeighbours[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
                                       "../../../extras/CUPTI/lib64/"};
// CUDA 11 put the minor into the soname.
constexpr const char* kCuda11Names[] = {"libcupti.so.11.8", "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                        "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2", "libcupti.so.11.1"};

constexpr const char* kNewestNames[] = {"libcupti.so.13", "libcupti.so.12"};

// The CUDA major that the mapped driver can serve; a CUPTI of a newer major would refuse to start. 0: no driver yet.
uint32_t DriverMajor() {
  using GetVersion = int (*)(int*);
  const auto get = reinterpret_cast<GetVersion>(ResolveNext("cuDriverGetVersion", nullptr, "libcuda.so"));
  int version = 0;
  return get != nullptr && get(&version) == 0 && version > 0 ? static_cast<uint32_t>(version) / 1000 : 0;
}

void* OpenNamed(const char* runtime_path, const char* name) {
  const size_t directory_bytes = static_cast<size_t>(FileName(runtime_path) - runtime_path);
  if (directory_bytes != 0) {
    for (const char* neighbour : kNeighbours) {
      if (void* handle = TryOpen(runtime_path, directory_bytes, neighbour, name)) return handle;
    }
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void* Open(char* reason, size_t reason_bytes) {
  const LoaderUse in_loader;
  Search cupti;
  if (FindMapped("libcupti.so", &cupti)) {
    void* handle = dlopen(cupti.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == nullptr) Text(reason, reason_bytes).Add("cannot use the mapped ").Add(cupti.path);
    return handle;
  }
  Search runtime;
  if (!FindMapped("libcudart.so", &runtime)) {
    // A static runtime: its major is not visible, the newest CUPTI that the driver serves and the loader finds has to do.
    const uint32_t driver_major = DriverMajor();
    for (const char* name : kNewestNames) {
      char major[8];
      MajorOf(name, major, sizeof(major));
      if (driver_major != 0 && strtoul(major, nullptr, 10) > driver_major) continue;
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
    }
    for (const char* name : kCuda11Names) {
      if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
    }
    Text(reason, reason_bytes).Add("no libcudart is mapped and the loader finds no libcupti.so.13, .12 or .11");
    return nullptr;
  }
  char major[8];
  MajorOf(FileName(runtime.path), major, sizeof(major));
  if (strcmp(major, "11") == 0) {
    for (const char* name : kCuda11Names) {
      if (void* handle = OpenNamed(runtime.path, name)) return handle;
    }
  } else {
    char name[32];
    Text(name, sizeof(name)).Add("libcupti.so.").Add(major);
    if (void* handle = OpenNamed(runtime.path, name)) return handle;
  }
  Text(reason, reason_bytes)
      .Add("no libcupti.so.")
      .Add(major)
      .Add(" beside ")
      .Add(runtime.path)
      .Add(" or in the loader's path");
  return nullptr;
}

}  // namespace

bool LoadCupti(CuptiFunctions* functions, char* reason, size_t reason_bytes) noexcept {
  void* handle = Open(reason, reason_bytes);
  if (handle == nullptr) return false;
#define STALLSCOPE_FIND(name) functions->name = reinterpret_cast<decltype(functions->name)>(dlsym(handle, #name));
#define STALLSCOPE_F(name) STALLSCOPE_FIND(name)
  STALLSCOPE_CUPTI_REQUIRED(STALLSCOPE_F)
  STALLSCOPE_CUPTI_OPTIONAL(STALLSCOPE_F)
#undef STALLSCOPE_F
#define STALLSCOPE_F(name, parameters) STALLSCOPE_FIND(name)
  STALLSCOPE_CUPTI_PER_SUBSCRIBER(STALLSCOPE_F)
#undef STALLSCOPE_F
#define STALLSCOPE_F(name)                                              \
  if (functions->name == nullptr) {                                     \
    Text(reason, reason_bytes).Add("this libcupti has no ").Add(#name); \
    return false;                                                       \
  }
  STALLSCOPE_CUPTI_REQUIRED(STALLSCOPE_F)
#undef STALLSCOPE_F
#undef STALLSCOPE_FIND
  Dl_info library = {};
  if (dladdr(reinterpret_cast<void*>(functions->cuptiGetVersion), &library) != 0 && library.dli_fname != nullptr) {
    Text(reason, reason_bytes).Add(FileName(library.dli_fname));
  }
  return true;
}

bool CuptiFunctions::HasPerSubscriber() const noexcept {
#define STALLSCOPE_F(name, parameters) \
  if (name == nullptr) return false;
  STALLSCOPE_CUPTI_PER_SUBSCRIBER(STALLSCOPE_F)
#undef STALLSCOPE_F
  return cuptiSubscribe_v2 != nullptr;
}

}  // namespace stallscope::agent
