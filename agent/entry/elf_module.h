// The tables of one loaded module, read where the loader left them in memory.
//
// Valid while the module stays loaded: inside a dl_iterate_phdr callback, or for the C library and the agent itself. No
// malloc, no lock, no system call, and nothing of the C library at all, since early_calls.h needs them before it can be
// called (tests/audit/agent_hot_objects.py).
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace stallscope::agent {

struct ElfModule {
  uintptr_t base = 0;
  uintptr_t begin = 0, end = 0;              // what its segments span
  uintptr_t relro_begin = 0, relro_end = 0;  // whole pages that the loader makes read-only after relocation
  const ElfW(Dyn) * dynamic = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
  const uint16_t* versions = nullptr;            // DT_VERSYM
  const uint8_t* version_definitions = nullptr;  // DT_VERDEF
  uint64_t version_definition_count = 0;
  const uint8_t* version_needs = nullptr;  // DT_VERNEED
  uint64_t version_need_count = 0;
  const ElfW(Rela) * relocations = nullptr;  // DT_RELA
  uint64_t relocation_bytes = 0;
  const ElfW(Rela) * plt_relocations = nullptr;  // DT_JMPREL
  uint64_t plt_relocation_bytes = 0;
  const char* soname = "";
  bool is_self = false;
  bool indirect_is_known = true;  // what an indirect function resolves to can be asked
};

inline constexpr uint16_t kVersionHidden = 0x8000;

// False: nothing in it that could be looked at.
bool ReadModule(const dl_phdr_info* info, ElfModule* module) noexcept;
// The part of it that the dynamic section tells; module->base is set already.
bool ReadDynamic(const ElfW(Dyn) * dynamic, ElfModule* module) noexcept;

// The symbol that the module defines under this name; version nullptr: the default one. 0: none.
uint32_t FindIndex(const ElfModule& module, const char* name, const char* version) noexcept;

// Its address, an indirect function resolved; nullptr where that cannot be done yet.
void* AddressOf(const ElfModule& module, uint32_t index) noexcept;

// Which version the module asks for in its symbol number `index` (an undefined one); nullptr: any.
const char* NeededVersion(const ElfModule& module, uint32_t index) noexcept;

inline void* Find(const ElfModule& module, const char* name, const char* version) noexcept {
  const uint32_t index = FindIndex(module, name, version);
  return index == 0 ? nullptr : AddressOf(module, index);
}

}  // namespace stallscope::agent
