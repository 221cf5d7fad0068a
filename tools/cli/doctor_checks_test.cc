#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/cli/gpu_checks.h"
#include "tools/cli/host_checks.h"
#include "tools/cli/process_checks.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A folder that stands for /.
class FakeRoot : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/root_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& bytes) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << bytes;
  }
  static const Check& Named(const Checks& checks, const std::string& name) {
    for (const Check& check : checks) {
      if (check.name == name) return check;
    }
    ADD_FAILURE() << "no check " << name;
    return checks.front();
  }
  std::string root_;
};

using HostChecks = FakeRoot;
using ProcessChecks = FakeRoot;

TEST_F(HostChecks, InvariantTsc_IsOk) {
  Write("/proc/cpuinfo", "processor : 0\nflags\t: fpu tsc constant_tsc nonstop_tsc\n");
  EXPECT_EQ(CheckClock(root_).state, CheckState::kOk);
}

TEST_F(HostChecks, TscThatStops_IsAWarning) {
  Write("/proc/cpuinfo", "flags\t: fpu tsc constant_tsc\n");
  const Check check = CheckClock(root_);
  EXPECT_EQ(check.state, CheckState::kWarn);
  EXPECT_THAT(check.found, HasSubstr("nonstop_tsc"));
}

TEST_F(HostChecks, PtraceScope) {
  EXPECT_EQ(CheckPtrace(root_).state, CheckState::kOk);
  Write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  EXPECT_EQ(CheckPtrace(root_).state, CheckState::kWarn);
}

TEST_F(HostChecks, SocketFolderOpenToOthers_IsAWarning) {
  const std::string folder = root_ + "/run";
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::all);
  EXPECT_EQ(CheckSocketFolder(folder + "/collector.sock").state, CheckState::kWarn);
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_EQ(CheckSocketFolder(folder + "/collector.sock").state, CheckState::kOk);
  EXPECT_THAT(CheckSocketFolder(folder + "/new/collector.sock").found, HasSubstr("will be made"));
}

TEST_F(HostChecks, NoDriver_PointsToTheSimulatedGpu) {
  EXPECT_THAT(CheckDriver(root_).next, HasSubstr("--gpu simulated"));
  Write("/proc/driver/nvidia/version", "NVRM version: 580.65\nGCC\n");
  EXPECT_EQ(CheckDriver(root_).found, "NVRM version: 580.65");
}

TEST_F(HostChecks, SharedMemory_WorksWhereTestsRun) { EXPECT_EQ(CheckSharedMemory().state, CheckState::kOk); }

TEST_F(ProcessChecks, UnknownPid_IsMissing) {
  const Checks checks = CheckProcess(root_, 7);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].state, CheckState::kMissing);
  EXPECT_TRUE(checks[0].main_road);
}

TEST_F(ProcessChecks, RecordedServer_IsSeenWithItsLibrariesAndTools) {
  Write("/proc/7/maps",
        "7f00-7f01 r-xp 0 08:01 1  /usr/lib/x86_64-linux-gnu/libc.so.6\n"
        "7f02-7f03 r-xp 0 08:01 2  /opt/stallscope/lib/libstallscope.so\n"
        "7f04-7f05 r-xp 0 08:01 3  /opt/torch/lib/libcudart.so.12\n"
        "7f06-7f07 r-xp 0 08:01 4  /opt/nsight/libToolsInjection64.so\n");
  Write("/proc/7/environ", std::string("A=1\0CUDA_INJECTION64_PATH=/opt/x.so\0", 36));
  const Checks checks = CheckProcess(root_, 7);
  EXPECT_EQ(Named(checks, "agent in it").state, CheckState::kOk);
  EXPECT_EQ(Named(checks, "CUDA runtime").found, "/opt/torch/lib/libcudart.so.12");
  EXPECT_EQ(Named(checks, "CUPTI").state, CheckState::kWarn);
  EXPECT_EQ(Named(checks, "other tools").found, "CUDA_INJECTION64_PATH is set, Nsight Systems");
}

TEST_F(ProcessChecks, PrivilegedStart_CannotBeRecorded) {
  Write("/proc/7/maps", "");
  Elf64_auxv_t entries[2] = {};
  entries[0].a_type = AT_SECURE, entries[0].a_un.a_val = 1;
  Write("/proc/7/auxv", std::string(reinterpret_cast<const char*>(entries), sizeof(entries)));
  EXPECT_EQ(Named(CheckProcess(root_, 7), "program").state, CheckState::kMissing);
}

TEST(ProcessChecksOfThisProcess, RealProc_IsReadable) {
  const Checks checks = CheckProcess("", static_cast<uint32_t>(getpid()));
  EXPECT_EQ(checks.at(0).state, CheckState::kOk);
  EXPECT_EQ(checks.at(1).state, CheckState::kOk) << checks.at(1).found;
}

}  // namespace
}  // namespace stallscope::cli
