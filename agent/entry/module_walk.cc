// ResolveNext and ModuleLoaded: symbol lookup in the loaded modules, without dlsym.
//
// dlsym(RTLD_NEXT) allocates, takes the loader's lock for long, looks at its caller's address and cannot name a version
// without dlvsym. This walk reads the modules' own tables through dl_iterate_phdr and answers for an exact version.
#include <link.h>

#include <atomic>

#include "agent/entry/early_calls.h"
#include "agent/entry/elf_module.h"
#include "agent/entry/lifecycle.h"
#include "agent/entry/loader_use.h"

namespace stallscope::agent {
namespace {

struct Search {
  const char* name;
  const char* version;
  const char* prefix;
  bool past_self = false;
  bool module_found = false;
  void* next = nullptr;      // first definition after the agent
  void* prefixed = nullptr;  // first definition in a module with the prefix
  // The agent came with dlopen (an injection, an attach), behind the C library: there is nothing after it, and what the
  // program calls is the first definition there is.
  bool came_late = false;
  void* first = nullptr;
};

bool HasPrefix(const ElfModule& module, const char* prefix) noexcept {
  if (prefix == nullptr) return false;
  const char* name = module.soname;
  while (*prefix != '\0' && *prefix == *name) ++prefix, ++name;  // strncmp cannot be called early
  return *prefix == '\0';
}

int LookForSymbol(const ElfModule& module, void* argument) noexcept {
  auto* search = static_cast<Search*>(argument);
  if (module.is_self) {
    search->past_self = true;
    // What was loaded behind the agent since is no more what the program calls than the agent is.
    return search->came_late && search->first != nullptr ? 1 : 0;
  }
  if (!search->past_self) {
    if (HasPrefix(module, "libc.so.")) search->came_late = true;
    if (search->first == nullptr) search->first = Find(module, search->name, search->version);
  }
  if (search->past_self && search->next == nullptr) search->next = Find(module, search->name, search->version);
  if (search->next != nullptr) return 1;
  if (search->prefixed == nullptr && HasPrefix(module, search->prefix)) {
    search->prefixed = Find(module, search->name, search->version);
  }
  return 0;
}

int VisitForSymbol(dl_phdr_info* info, size_t, void* argument) noexcept {
  ElfModule module;
  return ReadModule(info, &module) ? LookForSymbol(module, argument) : 0;
}

int VisitForModule(dl_phdr_info* info, size_t, void* argument) noexcept {
  auto* search = static_cast<Search*>(argument);
  ElfModule module;
  if (ReadModule(info, &module) && !module.is_self && HasPrefix(module, search->prefix)) search->module_found = true;
  return search->module_found ? 1 : 0;
}

struct VariableSearch {
  const char* name;
  unsigned long long loads = 0;
  const void* found = nullptr;
  uint64_t bytes = 0;
};
constinit std::atomic<unsigned long long> g_loads_searched{0};

int VisitForVariable(dl_phdr_info* info, size_t, void* argument) noexcept {
  auto* search = static_cast<VariableSearch*>(argument);
  search->loads = info->dlpi_adds;
  if (search->loads == g_loads_searched.load(std::memory_order_relaxed)) return 1;
  ElfModule module;
  if (!ReadModule(info, &module) || module.is_self) return 0;
  const uint32_t index = FindIndex(module, search->name, nullptr);
  if (index == 0 || ELF64_ST_TYPE(module.symbols[index].st_info) != STT_OBJECT) return 0;
  search->found = reinterpret_cast<const void*>(module.base + module.symbols[index].st_value);
  search->bytes = module.symbols[index].st_size;
  return 1;
}

}  // namespace

const void* FindVariable(const char* name, uint64_t* bytes) noexcept {
  if (!IsRelocated()) return nullptr;
  VariableSearch search = {name};
  const LoaderUse in_loader;
  dl_iterate_phdr(VisitForVariable, &search);
  if (search.found == nullptr) g_loads_searched.store(search.loads, std::memory_order_relaxed);
  *bytes = search.bytes;
  return search.found;
}

void* ResolveNext(const char* name, const char* version, const char* soname_prefix) noexcept {
  Search search = {name, version, soname_prefix};
  if (__builtin_expect(IsRelocated(), 1)) {
    const LoaderUse in_loader;
    dl_iterate_phdr(VisitForSymbol, &search);
  } else {
    VisitModulesEarly(LookForSymbol, &search);
  }
  if (search.came_late && search.first != nullptr) return search.first;
  return search.next != nullptr ? search.next : search.prefixed;
}

bool CameLate() noexcept {
  Search search = {"", nullptr, nullptr};
  const LoaderUse in_loader;
  dl_iterate_phdr(VisitForSymbol, &search);
  return search.came_late;
}

bool ModuleLoaded(const char* soname_prefix) noexcept {
  Search search = {nullptr, nullptr, soname_prefix};
  const LoaderUse in_loader;
  dl_iterate_phdr(VisitForModule, &search);
  return search.module_found;
}

}  // namespace stallscope::agent
