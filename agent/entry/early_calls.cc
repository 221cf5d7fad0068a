#include "agent/entry/early_calls.h"

#include <link.h>

#include <cstdint>

#include "agent/entry/elf_module.h"

// The linker's: where this library begins.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];  // NOLINT(bugprone-reserved-identifier)

namespace stallscope::agent {
namespace {

// A pointer to itself that RelocateEarly leaves to the loader.
constinit void* const volatile g_own_address = const_cast<void**>(&g_own_address);

constinit bool g_relocated_early = false;
constinit const link_map* g_first_module = nullptr;

// What the kernel told about the program lies above us on the stack, behind the environment, as a list of pairs. Here we are
// in the process's first thread, and below the loader's own first function.
__attribute__((noinline)) const uintptr_t* FindProgramHeaders() noexcept {
  const auto* word = static_cast<const uintptr_t*>(__builtin_frame_address(0));
  while (!(word[0] == AT_PHDR && word[2] == AT_PHENT && word[3] == sizeof(ElfW(Phdr)) && word[4] == AT_PHNUM)) ++word;
  return word;
}

// The loader's list of modules, by the way on which debuggers find it: DT_DEBUG of the program.
const link_map* FindFirstModule() noexcept {
  const uintptr_t* told = FindProgramHeaders();
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(told[1]);
  uintptr_t base = 0, dynamic = 0;
  for (uintptr_t i = 0; i < told[5]; ++i) {
    if (headers[i].p_type == PT_PHDR) base = told[1] - headers[i].p_vaddr;
    if (headers[i].p_type == PT_DYNAMIC) dynamic = headers[i].p_vaddr;
  }
  if (dynamic == 0) return nullptr;
  for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base + dynamic); entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_DEBUG || entry->d_un.d_ptr == 0) continue;
    return reinterpret_cast<const r_debug*>(entry->d_un.d_ptr)->r_map;
  }
  return nullptr;
}

struct OwnSymbol {
  const char* name;
  const char* version;
  void* found;
};

int VisitForOwnSymbol(const ElfModule& module, void* argument) noexcept {
  auto* wanted = static_cast<OwnSymbol*>(argument);
  if (!module.is_self) wanted->found = Find(module, wanted->name, wanted->version);
  return wanted->found != nullptr ? 1 : 0;
}

// What the loader is going to write; where that is not known yet, nothing.
void Relocate(const ElfModule& self, const ElfW(Rela) * first, uint64_t bytes) noexcept {
  for (uint64_t i = 0; i < bytes / sizeof(*first); ++i) {
    const ElfW(Rela)& relocation = first[i];
    auto* place = reinterpret_cast<void**>(self.base + relocation.r_offset);
    if (place == const_cast<void**>(&g_own_address)) continue;
    const auto type = ELF64_R_TYPE(relocation.r_info);
    if (type == R_X86_64_RELATIVE) {
      *place = reinterpret_cast<void*>(self.base + static_cast<uintptr_t>(relocation.r_addend));
    } else if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) {
      const auto index = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
      OwnSymbol wanted = {self.strings + self.symbols[index].st_name, NeededVersion(self, index), nullptr};
      VisitModulesEarly(VisitForOwnSymbol, &wanted);
      if (wanted.found != nullptr) *place = wanted.found;
    }
  }
}

// No copy of the module is made: that would be a call of memcpy.
int VisitForSelf(const ElfModule& module, void*) noexcept {
  if (!module.is_self) return 0;
  Relocate(module, module.relocations, module.relocation_bytes);
  Relocate(module, module.plt_relocations, module.plt_relocation_bytes);
  g_relocated_early = true;
  return 1;
}

// A module of which nothing is known, in memory that may hold anything. Word by word, since compilers make a call of
// memset of an ordinary initialisation.
ElfModule* MakeModule(void* memory) noexcept {
  static_assert(sizeof(ElfModule) % sizeof(uintptr_t) == 0);
  auto* words = static_cast<volatile uintptr_t*>(memory);
  for (size_t i = 0; i < sizeof(ElfModule) / sizeof(*words); ++i) words[i] = 0;
  auto* module = static_cast<ElfModule*>(memory);
  module->soname = "";
  return module;
}

}  // namespace

bool IsRelocated() noexcept { return g_own_address == const_cast<void**>(&g_own_address); }

void VisitModulesEarly(int (*visit)(const ElfModule& module, void* argument) noexcept, void* argument) noexcept {
  for (const link_map* entry = g_first_module; entry != nullptr; entry = entry->l_next) {
    alignas(ElfModule) unsigned char memory[sizeof(ElfModule)];
    ElfModule* module = MakeModule(memory);  // indirect_is_known: false
    module->base = entry->l_addr;
    module->is_self = entry->l_addr == reinterpret_cast<uintptr_t>(__ehdr_start);
    if (entry->l_ld != nullptr && ReadDynamic(entry->l_ld, module) && visit(*module, argument) != 0) return;
  }
}

bool RelocateEarly() noexcept {
  if (g_relocated_early) return true;
  if (g_first_module == nullptr) g_first_module = FindFirstModule();
  VisitModulesEarly(VisitForSelf, nullptr);
  return g_relocated_early;
}

}  // namespace stallscope::agent
