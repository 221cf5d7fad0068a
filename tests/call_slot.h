/* What other tracers do: another function into the slot of the global offset table through which this program calls a function of a
 * library. For programs of tests/safety and tests/attach; C, x86-64, no RELRO over the slots of the PLT (-z lazy). */
#pragma once

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* Returns what was in the slot; NULL: the program has none for this name. */
static inline void *ReplaceCallSlot(const char *name, void *function) {
  const struct link_map *map = _r_debug.r_map; /* the program itself */
  const ElfW(Rela) *table = NULL;
  const ElfW(Sym) *symbols = NULL;
  const char *strings = NULL;
  size_t bytes = 0;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_JMPREL) table = (const void *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) symbols = (const void *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) strings = (const void *)entry->d_un.d_ptr;
  }
  for (size_t i = 0; table != NULL && i < bytes / sizeof(*table); ++i) {
    if (strcmp(strings + symbols[ELF64_R_SYM(table[i].r_info)].st_name, name) != 0) continue;
    return __atomic_exchange_n((void **)(map->l_addr + table[i].r_offset), function, __ATOMIC_SEQ_CST);
  }
  return NULL;
}
