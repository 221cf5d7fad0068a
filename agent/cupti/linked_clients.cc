#include "agent/cupti/linked_clients.h"

#include <link.h>
#include <string.h>

#include <cstdint>

#include "agent/entry/elf_module.h"

namespace stallscope::agent {
namespace {

constexpr char kFunction[] = "cuptiActivityRegisterCallbacks";

bool IsWanted(const ElfModule& module, uint32_t symbol) noexcept {
  return module.symbols[symbol].st_shndx == SHN_UNDEF &&
         strcmp(module.strings + module.symbols[symbol].st_name, kFunction) == 0;
}

bool IsRelocatedBy(const ElfModule& module, const ElfW(Rela) * relocations, uint64_t bytes) noexcept {
  for (uint64_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
    const uint32_t symbol = ELF64_R_SYM(relocations[i].r_info);
    if (symbol != 0 && IsWanted(module, symbol)) return true;
  }
  return false;
}

// A module that exports nothing has a hash table of one empty bucket, which says nothing of the symbols either.
bool HashIsEmpty(const uint32_t* gnu_hash) noexcept {
  const uint32_t bucket_count = gnu_hash[0], bloom_words = gnu_hash[2];
  const uint32_t* buckets = gnu_hash + 4 + uint64_t{bloom_words} * 2;
  for (uint32_t i = 0; i < bucket_count; ++i) {
    if (buckets[i] != 0) return false;
  }
  return true;
}

bool Wants(const ElfModule& module) noexcept {
  if (module.gnu_hash == nullptr || HashIsEmpty(module.gnu_hash)) {
    return IsRelocatedBy(module, module.plt_relocations, module.plt_relocation_bytes) ||
           IsRelocatedBy(module, module.relocations, module.relocation_bytes);
  }
  // What a module wants from others lies before the first symbol that its hash table knows.
  const uint32_t first_defined = module.gnu_hash[1];
  for (uint32_t i = 1; i < first_defined; ++i) {
    if (IsWanted(module, i)) return true;
  }
  return false;
}

int Visit(dl_phdr_info* info, size_t, void* found) noexcept {
  ElfModule module;
  if (!ReadModule(info, &module) || module.is_self || !Wants(module)) return 0;
  *static_cast<bool*>(found) = true;
  return 1;
}

}  // namespace

bool LinksProcessWideCupti() noexcept {
  bool found = false;
  dl_iterate_phdr(Visit, &found);
  return found;
}

}  // namespace stallscope::agent
