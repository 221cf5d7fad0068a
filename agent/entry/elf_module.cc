#include "agent/entry/elf_module.h"

namespace stallscope::agent {
namespace {

// Not strcmp: an indirect function of the C library (elf_module.h).
bool SameText(const char* one, const char* other) noexcept {
  while (*one != '\0' && *one == *other) ++one, ++other;
  return *one == *other;
}

// Does symbol number `index` carry the version asked for? A module without versions, or a symbol of the base version,
// serves any.
bool VersionFits(const ElfModule& module, uint32_t index, const char* version) noexcept {
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
      return SameText(module.strings + name->vda_name, version);
    }
    if (definition->vd_next == 0) break;
    at += definition->vd_next;
  }
  return false;
}

bool Matches(const ElfModule& module, uint32_t index, const char* name, const char* version) noexcept {
  const ElfW(Sym)& symbol = module.symbols[index];
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT) return false;
  return SameText(module.strings + symbol.st_name, name) && VersionFits(module, index, version);
}

uint32_t FindByGnuHash(const ElfModule& module, const char* name, const char* version) noexcept {
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

uint32_t FindBySysvHash(const ElfModule& module, const char* name, const char* version) noexcept {
  const uint32_t symbol_count = module.sysv_hash[1];  // old linkers only; a plain scan is enough
  for (uint32_t index = 1; index < symbol_count; ++index) {
    if (Matches(module, index, name, version)) return index;
  }
  return 0;
}

}  // namespace

bool ReadDynamic(const ElfW(Dyn) * dynamic, ElfModule* module) noexcept {
  module->dynamic = dynamic;
  uint64_t soname_offset = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    // glibc relocates these pointers in place, except where the segment is read-only (the vDSO).
    uintptr_t address = dynamic->d_un.d_ptr;
    if (address < module->base) address += module->base;
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
      case DT_VERNEED:
        module->version_needs = reinterpret_cast<const uint8_t*>(address);
        break;
      case DT_VERNEEDNUM:
        module->version_need_count = dynamic->d_un.d_val;
        break;
      case DT_RELA:
        module->relocations = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        module->relocation_bytes = dynamic->d_un.d_val;
        break;
      case DT_JMPREL:
        module->plt_relocations = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        module->plt_relocation_bytes = dynamic->d_un.d_val;
        break;
      case DT_SONAME:
        soname_offset = dynamic->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (module->strings == nullptr || module->symbols == nullptr) return false;
  if (soname_offset != 0) module->soname = module->strings + soname_offset;
  return true;
}

bool ReadModule(const dl_phdr_info* info, ElfModule* module) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(&ReadModule);
  module->base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_GNU_RELRO) {
      // As the loader rounds it: a page that is shared with writable data stays writable.
      module->relro_begin = begin & ~uintptr_t{4095};
      module->relro_end = (begin + header.p_memsz) & ~uintptr_t{4095};
    }
    if (header.p_type != PT_LOAD) continue;
    if (self >= begin && self < begin + header.p_memsz) module->is_self = true;
    if (module->begin == 0 || begin < module->begin) module->begin = begin;
    if (begin + header.p_memsz > module->end) module->end = begin + header.p_memsz;
  }
  if (dynamic == nullptr) return false;
  if (!ReadDynamic(dynamic, module)) return false;
  if (module->soname[0] == '\0' && info->dlpi_name != nullptr) {
    module->soname = info->dlpi_name;
    for (const char* c = info->dlpi_name; *c != '\0'; ++c) {
      if (*c == '/') module->soname = c + 1;
    }
  }
  return true;
}

uint32_t FindIndex(const ElfModule& module, const char* name, const char* version) noexcept {
  if (module.gnu_hash != nullptr) return FindByGnuHash(module, name, version);
  return module.sysv_hash != nullptr ? FindBySysvHash(module, name, version) : 0;
}

void* AddressOf(const ElfModule& module, uint32_t index) noexcept {
  const ElfW(Sym)& symbol = module.symbols[index];
  const uintptr_t address = module.base + symbol.st_value;
  if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
    return module.indirect_is_known ? reinterpret_cast<void* (*)()>(address)() : nullptr;
  }
  return reinterpret_cast<void*>(address);
}

const char* NeededVersion(const ElfModule& module, uint32_t index) noexcept {
  if (module.versions == nullptr || module.version_needs == nullptr) return nullptr;
  const uint16_t number = module.versions[index] & ~kVersionHidden;
  if (number <= 1) return nullptr;
  const uint8_t* at = module.version_needs;
  for (uint64_t i = 0; i < module.version_need_count; ++i) {
    const auto* file = reinterpret_cast<const ElfW(Verneed)*>(at);
    const uint8_t* entry = at + file->vn_aux;
    for (uint32_t j = 0; j < file->vn_cnt; ++j) {
      const auto* version = reinterpret_cast<const ElfW(Vernaux)*>(entry);
      if ((version->vna_other & ~kVersionHidden) == number) return module.strings + version->vna_name;
      entry += version->vna_next;
    }
    at += file->vn_next;
  }
  return nullptr;
}

}  // namespace stallscope::agent
