#include "tools/attach/target_process.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tools/attach/injected_code.h"

namespace stallscope::attach {
namespace {

using testing::HasSubstr;

// A folder that looks like /proc: this test's own process under another number, with what a test changes of it.
class InspectProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/stallscope-attach-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    root_ = pattern;
    const std::string folder = root_ + "/proc/77";
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(root_ + "/proc/sys/kernel/yama");
    for (const char* name : {"maps", "auxv"}) {
      std::ofstream(folder + "/" + name) << ReadProcFile(absl::StrCat("/proc/self/", name));
    }
    std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), folder + "/exe");
    Status("S (sleeping)", "");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Status(const std::string& state, const std::string& more) {
    std::ofstream(root_ + "/proc/77/status")
        << "Name:\tserver\nState:\t" << state << "\nTgid:\t77\nPPid:\t1\n"
        << (more.find("TracerPid") == std::string::npos ? "TracerPid:\t0\n" : "")
        << "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t77\nVmSize:\t1000 kB\nThreads:\t4\n"
        << more;
  }
  void PtraceScope(const std::string& scope) {
    std::ofstream(root_ + "/proc/sys/kernel/yama/ptrace_scope") << scope << "\n";
  }
  std::string Refusal(const Asker& asker = {1000, 5, false}) {
    const auto target = InspectProcess(root_, 77, asker);
    return target.ok() ? "" : std::string(target.status().message());
  }

  std::string root_;
};

TEST_F(InspectProcessTest, AnOrdinaryProcess_MayBeAttachedTo) {
  const auto target = InspectProcess(root_, 77, {1000, 5, false});
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(target->threads, 4);
  EXPECT_EQ(target->name, "server");
  EXPECT_EQ(target->agent, nullptr);
}

TEST_F(InspectProcessTest, NoSuchProcess_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(InspectProcess(root_, 78, {1000, 5, false}).status()));
}

TEST_F(InspectProcessTest, AnotherUsers_IsRefusedExceptToWhoMayTraceAny) {
  EXPECT_THAT(Refusal({1001, 5, false}), HasSubstr("belongs to user 1000 and you are 1001"));
  EXPECT_EQ(Refusal({0, 5, true}), "");
}

TEST_F(InspectProcessTest, PtraceScope_IsExplained) {
  PtraceScope("0");
  EXPECT_EQ(Refusal(), "");
  PtraceScope("1");
  EXPECT_THAT(Refusal(), HasSubstr("ptrace_scope is 1, which allows a program's own children only"));
  EXPECT_THAT(Refusal(), HasSubstr("sysctl kernel.yama.ptrace_scope=0"));
  EXPECT_EQ(Refusal({1000, 5, true}), "");
  PtraceScope("2");
  EXPECT_THAT(Refusal(), HasSubstr("root only"));
  PtraceScope("3");
  EXPECT_THAT(Refusal({0, 5, true}), HasSubstr("booted again"));
}

TEST_F(InspectProcessTest, StatesThatCannotBe_AreRefusedByName) {
  Status("Z (zombie)", "");
  EXPECT_THAT(Refusal(), HasSubstr("zombie"));
  Status("T (stopped)", "");
  EXPECT_THAT(Refusal(), HasSubstr("kill -CONT 77"));
  Status("S (sleeping)", "TracerPid:\t4711\n");
  EXPECT_THAT(Refusal(), HasSubstr("process 4711 traces it"));
  Status("S (sleeping)", "Kthread:\t1\n");
  EXPECT_THAT(Refusal(), HasSubstr("thread of the kernel"));
  Status("S (sleeping)", "Seccomp:\t1\n");
  EXPECT_THAT(Refusal(), HasSubstr("strict seccomp"));
  Status("S (sleeping)", "");
  EXPECT_THAT(Refusal({1000, 77, false}), HasSubstr("this stallscope itself"));
}

TEST_F(InspectProcessTest, ASeccompFilter_IsRefusedOnlyWhereTheProcessMadeItItself) {
  std::filesystem::create_directories(root_ + "/proc/1");
  std::filesystem::create_directories(root_ + "/proc/self");
  std::ofstream(root_ + "/proc/self/status") << "Seccomp_filters:\t0\n";
  std::ofstream(root_ + "/proc/1/status") << "Seccomp:\t2\nSeccomp_filters:\t1\n";
  Status("S (sleeping)", "Seccomp:\t2\nSeccomp_filters:\t1\n");
  EXPECT_EQ(Refusal(), "");  // a container's
  Status("S (sleeping)", "Seccomp:\t2\nSeccomp_filters:\t2\n");
  EXPECT_THAT(Refusal(), HasSubstr("seccomp filter on itself"));
}

TEST_F(InspectProcessTest, WhatCannotBeLookedAt_IsCalledNotDumpable) {
  std::filesystem::remove(root_ + "/proc/77/maps");
  EXPECT_THAT(Refusal(), HasSubstr("not dumpable"));
}

TEST_F(InspectProcessTest, Musl_IsNamed) {
  std::ofstream(root_ + "/proc/77/maps")
      << "7f0000000000-7f0000001000 r-xp 00000000 00:01 5  /lib/ld-musl-x86_64.so.1\n";
  EXPECT_THAT(Refusal(), HasSubstr("musl"));
}

TEST(ParseMaps, LinesOfEachKind_AreRead) {
  const auto mappings = ParseMaps(
      "55d0-55d1 r--p 00000000 08:01 12   /usr/bin/a program\n"
      "55d1-55d2 r-xp 00001000 08:01 12   /usr/bin/a program\n"
      "7f00-7f01 rw-p 00000000 00:00 0 \n"
      "7f02-7f03 r-xp 00000000 08:01 13   /lib/gone.so (deleted)\n");
  ASSERT_EQ(mappings.size(), 4u);
  EXPECT_EQ(mappings[0].path, "/usr/bin/a program");
  EXPECT_TRUE(mappings[1].executable && !mappings[1].writable);
  EXPECT_EQ(mappings[2].path, "");
  EXPECT_EQ(mappings[3].path, "/lib/gone.so");
  const auto modules = ModulesOf(mappings);
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].base, 0x55d0u);
  EXPECT_EQ(modules[0].end, 0x55d2u);
  EXPECT_TRUE(modules[0].IsCode(0x55d1));
  EXPECT_FALSE(modules[0].IsCode(0x55d0));
}

TEST(ExportedSymbols, OfTheLoadedLibc_AreWhereTheLoaderSaysTheyAre) {
  const auto modules = ModulesOf(ParseMaps(ReadProcFile("/proc/self/maps")));
  bool found = false;
  for (const MappedModule& module : modules) {
    if (module.file_name() != "libc.so.6") continue;
    found = true;
    const auto symbols = ExportedSymbols::Read(getpid(), module);
    ASSERT_TRUE(symbols.ok()) << symbols.status();
    const auto address = reinterpret_cast<uint64_t>(dlsym(RTLD_NEXT, "munmap"));
    EXPECT_EQ(symbols->Address("munmap"), address);
    ASSERT_NE(symbols->At(address + 1), nullptr);
    EXPECT_EQ(symbols->Address("no_such_function"), 0u);
    EXPECT_TRUE(ReadUnwindTable(getpid(), module).has_value());
  }
  EXPECT_TRUE(found);
}

TEST(InjectedCode, FitsItsPageAndHasItsEntriesInIt) {
  const InjectedCode code = GetInjectedCode({});
  EXPECT_GT(code.bytes.size(), 100u);
  EXPECT_LT(code.bytes.size(), kPageBytes);
  EXPECT_LT(code.call, code.create);
  EXPECT_LT(code.create, code.helper);
  EXPECT_LT(code.helper, code.way_back);
  EXPECT_LT(code.way_back, code.bytes.size());
}

}  // namespace
}  // namespace stallscope::attach
