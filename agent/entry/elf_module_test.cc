#include "agent/entry/elf_module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstring>
#include <string>

namespace stallscope::agent {
namespace {

struct Wanted {
  std::string soname;
  ElfModule module;
  bool found = false;
};
int Visit(dl_phdr_info* info, size_t, void* argument) {
  auto* wanted = static_cast<Wanted*>(argument);
  ElfModule module;
  if (!ReadModule(info, &module)) return 0;
  if (wanted->soname.empty() ? !module.is_self : wanted->soname != module.soname) return 0;
  wanted->module = module;
  wanted->found = true;
  return 1;
}

// An empty name: this program.
ElfModule Loaded(const std::string& soname) {
  Wanted wanted;
  wanted.soname = soname;
  dl_iterate_phdr(Visit, &wanted);
  EXPECT_TRUE(wanted.found) << soname;
  return wanted.module;
}

void* InLibc(const char* name, const char* version = nullptr) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  return version == nullptr ? dlsym(libc, name) : dlvsym(libc, name, version);
}

TEST(ElfModule, FunctionsOfTheCLibrary_AreWhereItsLoaderFindsThem) {
  const ElfModule libc = Loaded("libc.so.6");
  EXPECT_FALSE(libc.is_self);
  for (const char* name : {"getpid", "read", "munmap"}) EXPECT_EQ(Find(libc, name, nullptr), InLibc(name)) << name;
  EXPECT_EQ(Find(libc, "memcpy", nullptr), InLibc("memcpy"));  // an indirect one
  EXPECT_EQ(Find(libc, "environ", nullptr), InLibc("environ"));
  EXPECT_EQ(Find(libc, "no_such_function", nullptr), nullptr);
  EXPECT_EQ(Find(libc, "", nullptr), nullptr);
}

// Condition variables of before glibc 2.3.2 hold a pointer to one of today's: the two must not be mixed up.
TEST(ElfModule, AFunctionThatIsThereTwice_IsToldApartByItsVersion) {
  const ElfModule libc = Loaded("libc.so.6");
  void* const old = Find(libc, "pthread_cond_wait", "GLIBC_2.2.5");
  void* const current = Find(libc, "pthread_cond_wait", "GLIBC_2.3.2");
  EXPECT_EQ(old, InLibc("pthread_cond_wait", "GLIBC_2.2.5"));
  EXPECT_EQ(current, InLibc("pthread_cond_wait", "GLIBC_2.3.2"));
  EXPECT_NE(old, current);
  EXPECT_EQ(Find(libc, "pthread_cond_wait", nullptr), current);
  EXPECT_EQ(Find(libc, "pthread_cond_wait", "GLIBC_9.9"), nullptr);
}

TEST(ElfModule, AnIndirectFunctionThatCannotBeAsked_IsNoAddress) {
  ElfModule libc = Loaded("libc.so.6");
  const uint32_t index = FindIndex(libc, "memcpy", nullptr);
  ASSERT_NE(index, 0u);
  ASSERT_EQ(ELF64_ST_TYPE(libc.symbols[index].st_info), STT_GNU_IFUNC);
  libc.indirect_is_known = false;
  EXPECT_EQ(AddressOf(libc, index), nullptr);
}

TEST(ElfModule, ThisProgram_SaysWhichVersionsItWants) {
  const ElfModule self = Loaded("");
  EXPECT_TRUE(self.is_self);
  EXPECT_LE(self.begin, reinterpret_cast<uintptr_t>(&Visit));
  EXPECT_GT(self.end, reinterpret_cast<uintptr_t>(&Visit));
  bool asked = false;
  for (uint64_t i = 0; i < self.relocation_bytes / sizeof(ElfW(Rela)); ++i) {
    const uint32_t symbol = ELF64_R_SYM(self.relocations[i].r_info);
    if (symbol == 0 || std::strcmp(self.strings + self.symbols[symbol].st_name, "__libc_start_main") != 0) continue;
    asked = true;
    const char* version = NeededVersion(self, symbol);
    ASSERT_NE(version, nullptr);
    EXPECT_EQ(std::strncmp(version, "GLIBC_2.", 8), 0) << version;
  }
  EXPECT_TRUE(asked);
}

TEST(ElfModule, OnlyTablesOfTheOldKind_AreSearchedToo) {
  ElfModule libc = Loaded("libc.so.6");
  // The count of the old table is all that is used of it.
  const uint32_t index = FindIndex(libc, "getpid", nullptr);
  const uint32_t old_table[2] = {1, index + 1};
  libc.gnu_hash = nullptr;
  libc.sysv_hash = old_table;
  EXPECT_EQ(FindIndex(libc, "getpid", nullptr), index);
  const uint32_t too_short[2] = {1, index};
  libc.sysv_hash = too_short;
  EXPECT_EQ(FindIndex(libc, "getpid", nullptr), 0u);
  libc.sysv_hash = nullptr;
  EXPECT_EQ(FindIndex(libc, "getpid", nullptr), 0u);
}

TEST(ElfModule, ADynamicSectionWithoutSymbols_IsNothingToLookAt) {
  const ElfW(Dyn) empty[] = {{DT_NULL, {0}}};
  ElfModule module;
  EXPECT_FALSE(ReadDynamic(empty, &module));
}

}  // namespace
}  // namespace stallscope::agent
