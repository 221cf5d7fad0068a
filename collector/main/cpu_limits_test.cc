#include "collector/main/cpu_limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

class Limits : public ::testing::Test {
 protected:
  Limits()
      : root(std::filesystem::path(::testing::TempDir()) / ("limits" + std::to_string(getpid()))),
        proc(root / "proc"),
        limits(&proc, 42, root / "cgroup") {
    std::filesystem::remove_all(root);
    Write("proc/42/status", "Name:\tx\nCpus_allowed:\tff,00000003\nCpus_allowed_list:\t0-1\n");
  }
  ~Limits() override { std::filesystem::remove_all(root); }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  const std::filesystem::path root;
  const ProcFiles proc;
  CpuLimits limits;
};

TEST_F(Limits, NoQuota_IsTheAffinity) {
  Write("proc/42/cgroup", "0::/\n");
  Write("cgroup/cpu.max", "max 100000\n");
  const CpuAllowance allowance = limits.Read();
  EXPECT_EQ(allowance.affinity_cpus, 10u);
  EXPECT_EQ(allowance.quota_millicpus, 0u);
  EXPECT_EQ(allowance.millicpus(), 10'000u);
}

TEST_F(Limits, VersionTwo_TightestQuotaOfAllLevelsCounts) {
  Write("proc/42/cgroup", "0::/pod/container\n");
  Write("cgroup/pod/cpu.max", "150000 100000\n");
  Write("cgroup/pod/cpu.stat", "usage_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 2500\n");
  Write("cgroup/pod/container/cpu.max", "400000 100000\n");
  Write("cgroup/pod/container/cpu.stat", "nr_throttled 1\nthrottled_usec 500\n");
  const CpuAllowance allowance = limits.Read();
  EXPECT_EQ(allowance.millicpus(), 1'500u);
  EXPECT_EQ(allowance.throttled_times, 5u);
  EXPECT_EQ(allowance.throttled_ns, 3'000'000u);
}

TEST_F(Limits, VersionOne_ReadsTheCpuControllersFolder) {
  Write("proc/42/cgroup", "5:memory:/m\n4:cpu,cpuacct:/batch\n0::/\n");
  Write("cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "50000\n");
  Write("cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n");
  Write("cgroup/cpu,cpuacct/batch/cpu.stat", "nr_periods 10\nnr_throttled 7\nthrottled_time 123456\n");
  const CpuAllowance allowance = limits.Read();
  EXPECT_EQ(allowance.millicpus(), 500u);
  EXPECT_EQ(allowance.throttled_times, 7u);
  EXPECT_EQ(allowance.throttled_ns, 123'456u);
}

TEST_F(Limits, Changes_AreSaidOnceAndCountFromTheFirstLook) {
  Write("proc/42/cgroup", "0::/pod\n");
  Write("cgroup/pod/cpu.max", "50000 100000\n");
  Write("cgroup/pod/cpu.stat", "nr_throttled 100\nthrottled_usec 1000\n");
  auto first = limits.Changes(1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].what(), v1::State::CPUS_AVAILABLE);
  EXPECT_EQ(first[0].value(), 500u);
  EXPECT_EQ(first[0].text(), "quota");
  Write("cgroup/pod/cpu.stat", "nr_throttled 103\nthrottled_usec 1900\n");
  EXPECT_TRUE(limits.Changes(2).empty()) << "not before a second has passed";
  auto second = limits.Changes(2'000'000'000);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].what(), v1::State::CPU_THROTTLED);
  EXPECT_EQ(second[0].value(), 900'000u);
  EXPECT_EQ(second[0].text(), "3");
  EXPECT_TRUE(limits.Changes(4'000'000'000).empty());
}

TEST_F(Limits, OutsideOurView_HasNoQuota) {
  Write("proc/42/cgroup", "0::/../other\n");
  EXPECT_EQ(limits.Read().millicpus(), 10'000u);
}

TEST_F(Limits, VanishedProcess_SaysNothing) {
  std::filesystem::remove_all(root);
  EXPECT_TRUE(limits.Changes(1).empty());
}

}  // namespace
}  // namespace stallscope
