#include "tests/simgpu/cupti/faults.h"

#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/simgpu/cupti/activity_client.h"
#include "tests/simgpu/cupti/takeover.h"

namespace simgpu::cupti {
namespace {

using testing::HasSubstr;

void CUPTIAPI IgnoreCall(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// Faults are read once a process: each test runs in a fresh process, which prints what its client saw.
void RunWith(const char* fault, void (*body)()) {
  setenv("SIMGPU_CUPTI_FAULT", fault, 1);
  setenv("SIMGPU_LAUNCH_CALL_NS", "0", 1);
  body();
  std::_Exit(0);
}
void ExpectSays(const char* fault, void (*body)(), const char* text) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunWith(fault, body), testing::ExitedWithCode(0), text);
}

void Enable(std::initializer_list<CUpti_ActivityKind> kinds) {
  StartClient();
  for (CUpti_ActivityKind kind : kinds) cuptiActivityEnable(kind);
}
std::vector<CUpti_ActivityKernel10> FlushedKernels(uint32_t flag = 0) {
  cuptiActivityFlushAll(flag);
  return Arrived<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}
void LaunchAndWait(int launches) {
  for (int i = 0; i < launches; ++i) LaunchKernel(nullptr);
  cudaDeviceSynchronize();
}

TEST(CuptiFaults, List_TakesNamesAndParametersAndNamesMistakes) {
  std::string complaints;
  const FaultSet faults = ParseFaults("zero_times:3,busy,nonsense,lost_buffers:x,", &complaints);
  EXPECT_TRUE(faults.Has(Fault::kZeroTimes));
  EXPECT_EQ(faults.Parameter(Fault::kZeroTimes), 3u);
  EXPECT_TRUE(faults.Has(Fault::kBusy));
  EXPECT_FALSE(faults.Has(Fault::kLostBuffers));
  EXPECT_THAT(complaints, HasSubstr("nonsense is not a fault"));
  EXPECT_THAT(complaints, HasSubstr("bad number in lost_buffers:x"));
}

TEST(CuptiFaultDeathTest, Busy_RefusesSubscribersAndNamesTheHolder) {
  constexpr auto body = [] {
    CUpti_SubscriberHandle subscriber;
    char holder[64] = {};
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = sizeof holder;
    const CUptiResult result = cuptiSubscribe_v2(&subscriber, IgnoreCall, nullptr, &params);
    std::fprintf(stderr, "%d %s", result, holder);
  };
  ExpectSays("busy", body, "39 nsys");
  ExpectSays("second_subscriber", body, "39 nsys");
}

TEST(CuptiFaultDeathTest, NoDriver_AnswersUnknown) {
  ExpectSays(
      "no_driver",
      [] {
        CUpti_SubscriberHandle subscriber;
        std::fprintf(stderr, "%d %d", cuptiSubscribe(&subscriber, IgnoreCall, nullptr),
                     cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
      },
      "999 999");
}

TEST(CuptiFaultDeathTest, NoGraphTrace_RefusesTheKind) {
  ExpectSays(
      "no_graph_trace", [] { std::fprintf(stderr, "%d", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)); }, "14");
}

TEST(CuptiFaultDeathTest, ZeroTimes_EveryThirdRecordHasNone) {
  ExpectSays(
      "zero_times:3",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(9);
        int zero = 0, all = 0;
        for (const auto& kernel : FlushedKernels()) ++all, zero += kernel.start == 0 && kernel.end == 0;
        std::fprintf(stderr, "%d of %d", zero, all);
      },
      "3 of 9");
}

TEST(CuptiFaultDeathTest, ReversedTimes_EndBeforeTheyStart) {
  ExpectSays(
      "reversed_times",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(5);
        int reversed = 0;
        for (const auto& kernel : FlushedKernels()) reversed += kernel.end < kernel.start;
        std::fprintf(stderr, "%d reversed", reversed);
      },
      "5 reversed");
}

TEST(CuptiFaultDeathTest, EarlyRecords_StartBeforeTheirLaunch) {
  ExpectSays(
      "early_records:1000000000",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME});
        LaunchKernel(nullptr);
        cudaDeviceSynchronize();
        const auto kernels = FlushedKernels();
        const auto calls = Arrived<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
        std::fprintf(stderr, "early %d", kernels.at(0).start < calls.at(0).start);
      },
      "early 1");
}

TEST(CuptiFaultDeathTest, AbsurdTimes_AreADayAway) {
  ExpectSays(
      "absurd_times",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(1);
        uint64_t now_ns = 0;
        cuptiGetTimestamp(&now_ns);
        std::fprintf(stderr, "absurd %d", FlushedKernels().at(0).start > now_ns + 86'400'000'000'000);
      },
      "absurd 1");
}

TEST(CuptiFaultDeathTest, ClockJump_MovesTheBaseOnce) {
  ExpectSays(
      "clock_jump:4",
      [] {
        uint64_t stamps[6];
        for (uint64_t& stamp : stamps) cuptiGetTimestamp(&stamp);
        int jumps = 0;
        for (int i = 1; i < 6; ++i) jumps += stamps[i] > stamps[i - 1] + 3'000'000'000'000;
        std::fprintf(stderr, "jumps %d", jumps);
      },
      "jumps 1");
}

TEST(CuptiFaultDeathTest, SlowFlush_TakesAsLongAsItWasTold) {
  ExpectSays(
      "slow_flush:30",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(1);
        timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        const size_t kernels = FlushedKernels().size();
        clock_gettime(CLOCK_MONOTONIC, &after);
        const int64_t ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1'000'000;
        std::fprintf(stderr, "%zu kernel, %s", kernels, ms >= 29 ? "late" : "at once");
      },
      "1 kernel, late");
}

TEST(CuptiFaultDeathTest, LostBuffers_ComeBackEmptyAndCounted) {
  ExpectSays(
      "lost_buffers:2",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(1000);
        const size_t arrived = FlushedKernels(1).size();
        size_t dropped = 0;
        cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
        std::fprintf(stderr, "lost some %d, together %zu", dropped > 0, arrived + dropped);
      },
      "lost some 1, together 1000");
}

TEST(CuptiFaultDeathTest, NeverDelivered_AreMissingAndNotCounted) {
  ExpectSays(
      "never_delivered:2",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(1000);
        const size_t arrived = FlushedKernels(1).size();
        size_t dropped = 0;
        cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
        std::fprintf(stderr, "missing %d, dropped %zu", arrived < 1000, dropped);
      },
      "missing 1, dropped 0");
}

TEST(CuptiFaultDeathTest, LateDelivery_TakesThreeMoreFlushes) {
  ExpectSays(
      "late_delivery:3",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(1);
        for (int flush = 0; flush < 4; ++flush) std::fprintf(stderr, "%zu ", FlushedKernels().size());
      },
      "0 0 1 1");
}

TEST(CuptiFaultDeathTest, WithheldBuffers_OneUnfinishedRecordHoldsAll) {
  ExpectSays(
      "withheld_buffers,endless_kernel:3",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(5);
        const size_t plain = FlushedKernels().size();
        std::fprintf(stderr, "plain %zu forced %zu", plain, FlushedKernels(1).size());
      },
      "plain 0 forced 5");
}

TEST(CuptiFaultDeathTest, EndlessKernel_ArrivesForcedAndWithoutEnd) {
  ExpectSays(
      "endless_kernel:3",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        LaunchAndWait(5);
        const size_t plain = FlushedKernels().size();
        const auto all = FlushedKernels(1);
        std::fprintf(stderr, "plain %zu all %zu last end %d", plain, all.size(), all.back().end == 0);
      },
      "plain 4 all 5 last end 1");
}

TEST(CuptiFaultDeathTest, Takeover_StealsBuffersThenSwitchesOff) {
  ExpectSays(
      "takeover:100",
      [] {
        Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
        for (int i = 0; i < 199; ++i) LaunchKernel(nullptr);
        cuptiActivityFlushAll(1);
        const size_t arrived = Arrived<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).size();
        const int requests = Client().requests;
        for (int i = 0; i < 200; ++i) LaunchKernel(nullptr);
        std::fprintf(stderr, "arrived %zu stolen %d asked again %d", arrived, BuffersLostToTakeover() > 0,
                     Client().requests - requests);
      },
      "arrived 0 stolen 1 asked again 0");
}

TEST(CuptiFaultDeathTest, GraphIds_AreZeroOrUsedAgain) {
  constexpr auto body = [] {
    Enable({CUPTI_ACTIVITY_KIND_GRAPH_TRACE});
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    std::set<uint32_t> true_ids;
    for (int i = 0; i < 4; ++i) {
      cudaGraphExec_t exec = MakeGraph(stream, 2);
      uint32_t id = 0;
      cuptiGetGraphExecId(reinterpret_cast<CUgraphExec>(exec), &id);
      true_ids.insert(id);
      cudaGraphLaunch(exec, stream);
    }
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(0);
    std::set<uint32_t> ids;
    for (const auto& graph : Arrived<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {
      ids.insert(graph.graphId);
    }
    std::fprintf(stderr, "%zu graphs have %zu ids, zero %zu", true_ids.size(), ids.size(), ids.count(0));
  };
  ExpectSays("zero_graph_ids", body, "4 graphs have 1 ids, zero 1");
  ExpectSays("recycled_graph_ids:1", body, "4 graphs have 1 ids, zero 0");
}

TEST(CuptiFaultDeathTest, NullBufferCrash_KillsAClientWithoutBuffers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr auto body = [] {
    Client().refuse = true;
    Enable({CUPTI_ACTIVITY_KIND_RUNTIME});
    LaunchKernel(nullptr);
  };
  EXPECT_EXIT(RunWith("null_buffer_crash", body), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace simgpu::cupti
