#include "tools/attach/target_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

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

TEST_F(InspectProcessTest, AProgramThatWasReplacedOnDisk_IsKnownByItsOwnPath) {
  const std::string start = ReadProcFile("/proc/self/exe").substr(0, 64 << 10);
  std::ofstream(root_ + "/server (deleted)", std::ios::binary) << start;
  std::filesystem::remove(root_ + "/proc/77/exe");
  std::filesystem::create_symlink(root_ + "/server (deleted)", root_ + "/proc/77/exe");
  const auto target = InspectProcess(root_, 77, {1000, 5, false});
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(target->executable, root_ + "/server");  // as in its modules
}

TEST_F(InspectProcessTest, Musl_IsNamed) {
  std::ofstream(root_ + "/proc/77/maps")
      << "7f0000000000-7f0000001000 r-xp 00000000 00:01 5  /lib/ld-musl-x86_64.so.1\n";
  EXPECT_THAT(Refusal(), HasSubstr("musl"));
}

}  // namespace
}  // namespace stallscope::attach
