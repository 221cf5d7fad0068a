#include "tools/attach/target_functions.h"

#include <initializer_list>

#include "absl/strings/match.h"

namespace stallscope::attach {
namespace {

constexpr uint64_t kOpenNowLocal = 2;           // RTLD_NOW | RTLD_LOCAL
constexpr uint64_t kInternalOpen = 0x80000000;  // __libc_dlopen_mode's own flag

}  // namespace

bool TargetFunctions::Suffice(bool own_thread) const {
  const bool loads = dlopen != 0 && dlsym != 0 && dlerror != 0 && munmap != 0 && errno_location != 0;
  return loads && (!own_thread || (pthread_create != 0 && pthread_self != 0 && pthread_detach != 0));
}

TargetFunctions FindTargetFunctions(int pid, const ExportedSymbols& libc, const std::vector<MappedModule>& modules) {
  // Before glibc 2.34 some of these lie in libraries of their own.
  std::vector<ExportedSymbols> libraries = {libc};
  for (const MappedModule& module : modules) {
    const bool wanted =
        absl::StartsWith(module.file_name(), "libdl.so.2") || absl::StartsWith(module.file_name(), "libpthread");
    if (!wanted) continue;
    if (auto symbols = ExportedSymbols::Read(pid, module); symbols.ok()) libraries.push_back(*symbols);
  }
  const auto find = [&libraries](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      for (const ExportedSymbols& library : libraries) {
        if (const uint64_t address = library.Address(name); address != 0) return address;
      }
    }
    return uint64_t{0};
  };
  TargetFunctions functions;
  functions.dlopen = find({"dlopen", "__libc_dlopen_mode"});
  functions.dlsym = find({"dlsym", "__libc_dlsym"});
  functions.dlerror = find({"dlerror"});
  functions.munmap = find({"munmap"});
  functions.errno_location = find({"__errno_location"});
  functions.pthread_create = find({"pthread_create"});
  functions.pthread_self = find({"pthread_self"});
  functions.pthread_detach = find({"pthread_detach"});
  functions.open_flags = find({"dlopen"}) != 0 ? kOpenNowLocal : kOpenNowLocal | kInternalOpen;
  return functions;
}

}  // namespace stallscope::attach
