#include "agent/cupti/linked_clients.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <cstdint>

#include "agent/entry/loader_use.h"
namespace stallscope::agent {
namespace {

constexpr char kFunction[] = "cuptiActivityRegisterCallbacks";

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  bool is_self = false;
};

Tables TablesOf(const dl_phdr_info* info) noexcept {
  Tables tables;
  const ElfW(Dyn)* dynamic = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(&TablesOf);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_LOAD && self >= begin && self < begin + header.p_memsz) tables.is_self = true;
  }
  if (dynamic == nullptr) return tables;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    uintptr_t address = dynamic->d_un.d_ptr;
    if (address < info->dlpi_addr) address += info->dlpi_addr;
    if (dynamic->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) tables.strings = reinterpret_cast<const char*>(address);
    if (dynamic->d_tag == DT_GNU_HASH) tables.gnu_hash = reinterpret_cast<const uint32_t*>(address);
  }
  return tables;
}

int Visit(dl_phdr_info* info, size_t, void* found) noexcept {
  const Tables tables = TablesOf(info);
  if (tables.is_self || tables.symbols == nullptr || tables.strings == nullptr || tables.gnu_hash == nullptr) return 0;
  // What a module wants from others lies before the first symbol that its hash table knows.
  const uint32_t first_defined = tables.gnu_hash[1];
  for (uint32_t i = 1; i < first_defined; ++i) {
    if (tables.symbols[i].st_shndx != SHN_UNDEF) continue;
    if (strcmp(tables.strings + tables.symbols[i].st_name, kFunction) != 0) continue;
    *static_cast<bool*>(found) = true;
    return 1;
  }
  return 0;
}

}  // namespace

bool LinksProcessWideCupti() noexcept {
  bool found = false;
  const LoaderUse in_loader;
  dl_iterate_phdr(Visit, &found);
  return found;
}

}  // namespace stallscope::agent
