#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "agent/cuda/call_table.h"
#include "agent/cuda/fake_agent.h"
#include "agent/cuda/memory_calls.h"
#include "agent/cupti/mps.h"
#include "agent/cupti/session_state.h"
#include "agent/entry/real_calls.h"

namespace stallscope::agent {

constinit CuptiSession g_cupti_session;
constinit RealCalls g_real = {};
void ResolveRealCalls() noexcept { g_real.getenv = getenv; }

namespace {

using wire::Level;

std::set<int> g_on, g_refused;
uint32_t g_callbacks_on = 0;
int g_asked = 0;

CUptiResult CUPTIAPI Enable(CUpti_ActivityKind kind) {
  ++g_asked;
  if (g_refused.count(kind) != 0) return CUPTI_ERROR_NOT_SUPPORTED;
  g_on.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI Disable(CUpti_ActivityKind kind) {
  ++g_asked;
  g_on.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI EnableCallback(uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  g_callbacks_on += on != 0 ? 1 : static_cast<uint32_t>(-1);
  return CUPTI_SUCCESS;
}

class ActivityKinds : public testing::Test {
 protected:
  void SetUp() override {
    ResetFake();
    g_on.clear();
    g_refused.clear();
    g_asked = 0;
    g_callbacks_on = 0;
    g_cupti_session.callbacks_on = false;
    g_cupti_session.cupti.functions = {};
    g_cupti_session.cupti.functions.cuptiActivityEnable = Enable;
    g_cupti_session.cupti.functions.cuptiActivityDisable = Disable;
    g_cupti_session.cupti.functions.cuptiEnableCallback = EnableCallback;
    ForgetKinds();
  }
  void TearDown() override {
    ForgetKinds();
    g_memory_records_come = false;
  }
};

TEST_F(ActivityKinds, Budget_SeesOperationsAndWholeGraphs) {
  ApplyDetail({Level::kBudget});
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1u);
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_MEMCPY), 1u);
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 1u);
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), 0u);
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), 0u);
  EXPECT_EQ(g_callbacks_on, kCudaCallCount);
  EXPECT_TRUE(g_memory_records_come);
}

TEST_F(ActivityKinds, Nodes_TurnsTheWholeGraphsRecordOff) {
  ApplyDetail({Level::kKernels});
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 1u);
  ApplyDetail({Level::kNodes});
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0u);
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), 1u);
  ApplyDetail({Level::kBudget, /*gpu_records=*/true, /*nodes=*/true});
  EXPECT_EQ(g_on.count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0u);
}

TEST_F(ActivityKinds, Off_LeavesNothingOn) {
  ApplyDetail({Level::kNodes});
  ASSERT_FALSE(g_on.empty());
  ApplyDetail({});
  EXPECT_TRUE(g_on.empty());
  EXPECT_EQ(g_callbacks_on, 0u);
  EXPECT_FALSE(g_memory_records_come);
}

TEST_F(ActivityKinds, CallsAlone_KeepCallbacksWithoutRecords) {
  ApplyDetail({Level::kBudget});
  ApplyDetail({Level::kBudget, /*gpu_records=*/false});
  EXPECT_TRUE(g_on.empty());
  EXPECT_EQ(g_callbacks_on, kCudaCallCount);
}

TEST_F(ActivityKinds, TheSameAgain_AsksForNothing) {
  ApplyDetail({Level::kBudget});
  const int asked = g_asked;
  ApplyDetail({Level::kBudget});
  EXPECT_EQ(g_asked, asked);
}

TEST_F(ActivityKinds, Refused_IsAskedOnceASubscription) {
  g_refused = {CUPTI_ACTIVITY_KIND_MEMORY_POOL};
  ApplyDetail({Level::kBudget});
  EXPECT_EQ(Fake().CountOf(wire::Counter::kCuptiErrors), 1u);
  ApplyDetail({Level::kOff});
  ApplyDetail({Level::kBudget});
  EXPECT_EQ(Fake().CountOf(wire::Counter::kCuptiErrors), 1u);
  ForgetKinds();
  ApplyDetail({Level::kBudget});
  EXPECT_EQ(Fake().CountOf(wire::Counter::kCuptiErrors), 2u);
}

// In this order, since what was told is remembered for the process's life.
TEST_F(ActivityKinds, UnderMps_KernelsAreNotTracedUnlessAskedFor) {
  using Mps = ActivityDecoder::Mps;
  char pattern[] = "/tmp/stallscope-mps-XXXXXX";
  ASSERT_NE(mkdtemp(pattern), nullptr);
  const std::string folder = pattern, pipe = folder + "/control";
  setenv("CUDA_MPS_PIPE_DIRECTORY", folder.c_str(), 1);
  unsetenv("STALLSCOPE_MPS_KERNELS");
  LookForMps();
  EXPECT_TRUE(KernelsMayBeTraced(Mps::kNotKnown));
  EXPECT_TRUE(KernelsMayBeTraced(Mps::kNo));
  EXPECT_TRUE(Fake().states.empty());  // nothing to tell of
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  LookForMps();
  EXPECT_FALSE(KernelsMayBeTraced(Mps::kNotKnown));
  EXPECT_EQ(Fake().states.size(), 1u);
  EXPECT_FALSE(KernelsMayBeTraced(Mps::kNotKnown));
  EXPECT_EQ(Fake().states.size(), 1u);  // told once
  EXPECT_FALSE(KernelsMayBeTraced(Mps::kYes));
  EXPECT_TRUE(KernelsMayBeTraced(Mps::kNo));  // the daemon serves others
  EXPECT_EQ(Fake().states.size(), 3u);
  setenv("STALLSCOPE_MPS_KERNELS", "1", 1);
  LookForMps();
  EXPECT_TRUE(KernelsMayBeTraced(Mps::kYes));
  std::filesystem::remove(pipe);
  ASSERT_EQ(close(creat(pipe.c_str(), 0600)), 0);
  unsetenv("STALLSCOPE_MPS_KERNELS");
  LookForMps();  // an ordinary file is no pipe
  EXPECT_TRUE(KernelsMayBeTraced(Mps::kNotKnown));
  std::filesystem::remove_all(folder);
  setenv("CUDA_MPS_PIPE_DIRECTORY", ("/" + std::string(600, 'd')).c_str(), 1);
  LookForMps();
  EXPECT_TRUE(KernelsMayBeTraced(Mps::kNotKnown));
  unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

}  // namespace
}  // namespace stallscope::agent
