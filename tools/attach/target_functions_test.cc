#include "tools/attach/target_functions.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/attach/target_process.h"

namespace stallscope::attach {
namespace {

TEST(TargetFunctions, OfThisProcess_AreWhereItsLoaderSaysTheyAre) {
  const auto modules = ModulesOf(ParseMaps(ReadProcFile("/proc/self/maps")));
  ExportedSymbols libc;
  for (const MappedModule& module : modules) {
    if (module.file_name() != "libc.so.6") continue;
    auto symbols = ExportedSymbols::Read(getpid(), module);
    ASSERT_TRUE(symbols.ok()) << symbols.status();
    libc = *symbols;
  }
  const TargetFunctions functions = FindTargetFunctions(getpid(), libc, modules);
  // Of the library itself: a sanitizer's own versions come before it.
  void* library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto address = [library](const char* name) { return reinterpret_cast<uint64_t>(dlsym(library, name)); };
  EXPECT_EQ(functions.munmap, address("munmap"));
  EXPECT_EQ(functions.errno_location, address("__errno_location"));
  EXPECT_EQ(functions.dlerror, address("dlerror"));
  EXPECT_EQ(functions.pthread_self, address("pthread_self"));
  EXPECT_TRUE(functions.Suffice(true));
  if (libc.Address("dlopen") != 0) {
    EXPECT_EQ(functions.open_flags, uint64_t{RTLD_NOW | RTLD_LOCAL});
  }
}

TEST(TargetFunctions, OfACLibraryThatExportsNothing_DoNotSuffice) {
  const TargetFunctions functions = FindTargetFunctions(getpid(), {}, {});
  EXPECT_FALSE(functions.Suffice(false));
  EXPECT_EQ(functions.open_flags & 0x80000000, 0x80000000);  // what is called then is __libc_dlopen_mode
}

TEST(TargetFunctions, WithoutThreads_SufficeForAProcessOfOne) {
  TargetFunctions functions;
  functions.dlopen = functions.dlsym = functions.dlerror = functions.munmap = functions.errno_location = 0x1000;
  EXPECT_TRUE(functions.Suffice(false));
  EXPECT_FALSE(functions.Suffice(true));
  functions.pthread_create = functions.pthread_self = functions.pthread_detach = 0x1000;
  EXPECT_TRUE(functions.Suffice(true));
}

}  // namespace
}  // namespace stallscope::attach
