// ResolveNext and ModuleLoaded: symbol lookup in the loaded modules, without dlsym.
//
// dlsym(RTLD_NEXT) allocates, takes the loader's lock for long, looks at its caller's address and cannot name a version
// without dlvsym. This walk reads the modules' own tables through dl_iterate_phdr and answers for an exact version.
#include <elf.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "agent/entry/lifecycle.h"

namespace stallscope::agent {
namespace {

struct Module {
  uintptr_t base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
  const uint16_t* versions = nullptr;            // DT_VERSYM
  const uint8_t* version_definitions = nullptr;  // DT_VERDEF
  uint64_t version_definition_count = 0;
  const char* soname = "";
  bool is_self = false;
};

constexpr uint16_t kVersionHidden = 0x8000;

bool ReadModule(const dl_phdr_info* info, Module* module) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(&ReadModule);
  module->base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_LOAD && self >= begin && self < begin + header.p_memsz) module->is_self = true;
  }
  if (dynamic == nullptr) return false;
  uint64_t soname_offset = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    // glibc relocates these pointers in place, except where the segment is read-only (the vDSO).
    uintptr_t address = dynamic->d_un.d_ptr;
    if (address < info->dlpi_addr) address += info->dlpi_addr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        module->symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        module->strings = reinterpret_cast<const char*>(address);
        break;
      case DT_GNU_HASH:
        module->gnu_hash = reinterpret_cast<const uint32_t*>(address);
        break;
      case DT_HASH:
        module->sysv_hash = reinterpret_cast<const uint32_t*>(address);
        break;
      case DT_VERSYM:
        module->versions = reinterpret_cast<const uint16_t*>(address);
        break;
      case DT_VERDEF:
        module->version_definitions = reinterpret_cast<const uint8_t*>(address);
        break;
      case DT_VERDEFNUM:
        module->version_definition_count = dynamic->d_un.d_val;
        break;
      case DT_SONAME:
        soname_offset = dynamic->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (module->strings == nullptr || module->symbols == nullptr) return false;
  if (soname_offset != 0) {
    module->soname = module->strings + soname_offset;
  } else if (info->dlpi_name != nullptr) {
    const char* slash = strrchr(info->dlpi_name, '/');
    module->soname = slash != nullptr ? slash + 1 : info->dlpi_name;
  }
  return true;
}

// Does symbol number `index` carry the version asked for? A module without versions, or a symbol of the base version,
// serves any.
bool VersionFits(const Module& module, uint32_t index, const char* version) noexcept {
  if (module.versions == nullptr) return true;
  const uint16_t entry = module.versions[index];
  const uint16_t number = entry & ~kVersionHidden;
  if (version == nullptr) return (entry & kVersionHidden) == 0;
  if (number <= 1 || module.version_definitions == nullptr) return true;
  const uint8_t* at = module.version_definitions;
  for (uint64_t i = 0; i < module.version_definition_count; ++i) {
    const auto* definition = reinterpret_cast<const ElfW(Verdef)*>(at);
    if ((definition->vd_ndx & ~kVersionHidden) == number) {
      const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(at + definition->vd_aux);
      return strcmp(module.strings + name->vda_name, version) == 0;
    }
    if (definition->vd_next == 0) break;
    at += definition->vd_next;
  }
  return false;
}

bool Matches(const Module& module, uint32_t index, const char* name, const char* version) noexcept {
  const ElfW(Sym)& symbol = module.symbols[index];
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT) return false;
  return strcmp(module.strings + symbol.st_name, name) == 0 && VersionFits(module, index, version);
}

uint32_t FindByGnuHash(const Module& module, const char* name, const char* version) noexcept {
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<uint8_t>(*c);
  const uint32_t bucket_count = module.gnu_hash[0], first = module.gnu_hash[1], bloom_words = module.gnu_hash[2];
  if (bucket_count == 0) return 0;
  const auto* bloom = reinterpret_cast<const uint64_t*>(module.gnu_hash + 4);
  const uint32_t* buckets = reinterpret_cast<const uint32_t*>(bloom + bloom_words);
  const uint32_t* chain = buckets + bucket_count;
  const uint64_t word = bloom[(hash / 64) & (bloom_words - 1)];
  const uint32_t shift = module.gnu_hash[3];
  if ((word >> (hash % 64) & word >> ((hash >> shift) % 64) & 1) == 0) return 0;
  uint32_t index = buckets[hash % bucket_count];
  if (index < first) return 0;
  for (;; ++index) {
    const uint32_t entry = chain[index - first];
    if ((entry | 1) == (hash | 1) && Matches(module, index, name, version)) return index;
    if ((entry & 1) != 0) return 0;
  }
}

uint32_t FindBySysvHash(const Module& module, const char* name, const char* version) noexcept {
  const uint32_t symbol_count = module.sysv_hash[1];  // old linkers only; a plain scan is enough
  for (uint32_t index = 1; index < symbol_count; ++index) {
    if (Matches(module, index, name, version)) return index;
  }
  return 0;
}

uint32_t FindIndex(const Module& module, const char* name, const char* version) noexcept {
  if (module.gnu_hash != nullptr) return FindByGnuHash(module, name, version);
  return module.sysv_hash != nullptr ? FindBySysvHash(module, name, version) : 0;
}

void* Find(const Module& module, const char* name, const char* version) noexcept {
  const uint32_t index = FindIndex(module, name, version);
  if (index == 0) return nullptr;
  const ElfW(Sym)& symbol = module.symbols[index];
  const uintptr_t address = module.base + symbol.st_value;
  if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) return reinterpret_cast<void* (*)()>(address)();
  return reinterpret_cast<void*>(address);
}

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

bool HasPrefix(const Module& module, const char* prefix) noexcept {
  return prefix != nullptr && strncmp(module.soname, prefix, strlen(prefix)) == 0;
}

int VisitForSymbol(dl_phdr_info* info, size_t, void* argument) noexcept {
  auto* search = static_cast<Search*>(argument);
  Module module;
  if (!ReadModule(info, &module)) return 0;
  if (module.is_self) {
    search->past_self = true;
    return 0;
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

int VisitForModule(dl_phdr_info* info, size_t, void* argument) noexcept {
  auto* search = static_cast<Search*>(argument);
  Module module;
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
  Module module;
  if (!ReadModule(info, &module) || module.is_self) return 0;
  const uint32_t index = FindIndex(module, search->name, nullptr);
  if (index == 0 || ELF64_ST_TYPE(module.symbols[index].st_info) != STT_OBJECT) return 0;
  search->found = reinterpret_cast<const void*>(module.base + module.symbols[index].st_value);
  search->bytes = module.symbols[index].st_size;
  return 1;
}

}  // namespace

const void* FindVariable(const char* name, uint64_t* bytes) noexcept {
  VariableSearch search = {name};
  dl_iterate_phdr(VisitForVariable, &search);
  if (search.found == nullptr) g_loads_searched.store(search.loads, std::memory_order_relaxed);
  *bytes = search.bytes;
  return search.found;
}

void* ResolveNext(const char* name, const char* version, const char* soname_prefix) noexcept {
  Search search = {name, version, soname_prefix};
  dl_iterate_phdr(VisitForSymbol, &search);
  if (search.next != nullptr) return search.next;
  if (search.prefixed != nullptr) return search.prefixed;
  return search.came_late ? search.first : nullptr;
}

bool ModuleLoaded(const char* soname_prefix) noexcept {
  Search search = {nullptr, nullptr, soname_prefix};
  dl_iterate_phdr(VisitForModule, &search);
  return search.module_found;
}

}  // namespace stallscope::agent
