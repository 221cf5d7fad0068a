// The functions of the target that the injected code calls, found in the tables of its own C library.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/attach/target_memory.h"

namespace stallscope::attach {

// Addresses in the target; 0: it has none.
struct TargetFunctions {
  uint64_t dlopen = 0, dlsym = 0, dlerror = 0, munmap = 0, errno_location = 0;
  uint64_t pthread_create = 0, pthread_self = 0, pthread_detach = 0;
  uint64_t open_flags = 0;  // what dlopen is to be called with

  // Whether a library can be loaded with them; `own_thread`: on a thread that is made for it.
  bool Suffice(bool own_thread) const;
};

// `libc`: what the target's C library exports. Libraries that glibc before 2.34 keeps apart are looked for in `modules`.
TargetFunctions FindTargetFunctions(int pid, const ExportedSymbols& libc, const std::vector<MappedModule>& modules);

}  // namespace stallscope::attach
