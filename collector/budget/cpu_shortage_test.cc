#include "collector/budget/cpu_shortage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr HostNs kSecondNs = 1'000'000'000;

// `threads` threads for ten seconds, each on a CPU for `on_cpu` of its time and runnable without one for `delayed`.
CpuShortage TenSeconds(int threads, double on_cpu, double delayed, HostNs begin = 100 * kSecondNs) {
  CpuShortage shortage;
  for (int second = 0; second <= 10; ++second) {
    for (int thread = 1; thread <= threads; ++thread) {
      ThreadSampleEvent sample{};
      sample.thread = static_cast<ThreadIndex>(thread);
      sample.at = begin + second * kSecondNs;
      sample.on_cpu_ns = 5'000'000'000 + static_cast<uint64_t>(second * on_cpu * 1e9);
      sample.run_delay_ns = static_cast<uint64_t>(second * delayed * 1e9);
      sample.involuntary_switches = static_cast<uint64_t>(second) * 50;
      shortage.OnSample(sample);
    }
  }
  return shortage;
}

TEST(CpuShortage, ThreeThreadsOnTwoCpus_AreNamedAsOversubscription) {
  CpuShortage shortage = TenSeconds(3, 0.66, 0.34);
  shortage.OnCpusAvailable(2000, false);
  EXPECT_THAT(
      shortage.Lines(0, 0),
      ElementsAre("CPU oversubscription: on average 3.0 threads wanted to run on 2 CPUs; a runnable thread stood "
                  "still 34 % of its time, 150 involuntary switches a second"));
}

TEST(CpuShortage, OneThreadAmongOthers_SaysThatOthersTookTheCpu) {
  CpuShortage shortage = TenSeconds(1, 0.5, 0.5);
  shortage.OnCpusAvailable(2000, false);
  EXPECT_THAT(shortage.Lines(0, 0), ElementsAre(HasSubstr("other programs took the CPU")));
}

TEST(CpuShortage, EnoughCpus_SaysNothing) {
  CpuShortage shortage = TenSeconds(2, 0.99, 0.01);
  shortage.OnCpusAvailable(2000, false);
  EXPECT_THAT(shortage.Lines(0, 0), IsEmpty());
}

TEST(CpuShortage, UnknownNumberOfCpus_ClaimsNoCause) {
  EXPECT_THAT(TenSeconds(3, 0.5, 0.5).Lines(0, 0), ElementsAre(HasSubstr("CPUs were short: on average 3.0 threads")));
}

TEST(CpuShortage, WindowAfterIt_IsQuiet) {
  CpuShortage shortage = TenSeconds(3, 0.66, 0.34);
  ThreadSampleEvent later{};
  later.thread = 1, later.at = 160 * kSecondNs, later.on_cpu_ns = 12'000'000'000, later.run_delay_ns = 3'400'000'000;
  shortage.OnSample(later);
  EXPECT_THAT(shortage.Lines(10 * kSecondNs, 160 * kSecondNs + 1), IsEmpty());
}

TEST(CpuShortage, Throttling_IsNamedWithItsQuota) {
  CpuShortage shortage = TenSeconds(1, 0.5, 0);
  shortage.OnCpusAvailable(500, true);
  shortage.OnThrottled(105 * kSecondNs, 300'000'000, 6);
  shortage.OnThrottled(106 * kSecondNs, 450'000'000, 9);
  EXPECT_THAT(shortage.Lines(0, 0),
              ElementsAre("CPU quota: the cgroup stopped this process 9 times, for 450 ms (quota 0.5 CPUs); raise its "
                          "cpu.max or use fewer threads"));
  EXPECT_THAT(shortage.Lines(5 * kSecondNs, 110 * kSecondNs), ElementsAre(HasSubstr("stopped this process 9 times")));
  EXPECT_THAT(shortage.Lines(4 * kSecondNs, 110 * kSecondNs), ElementsAre(HasSubstr("stopped this process 3 times")));
}

TEST(CpuShortage, CountersThatWentBack_AreNotCounted) {
  CpuShortage shortage = TenSeconds(3, 0.66, 0.34);
  ThreadSampleEvent another{};
  another.thread = 1, another.at = 111 * kSecondNs, another.on_cpu_ns = 5, another.run_delay_ns = 5;
  shortage.OnSample(another);
  shortage.OnCpusAvailable(2000, false);
  EXPECT_THAT(shortage.Lines(0, 0), ElementsAre(AllOf(HasSubstr("2.7 threads"), HasSubstr("34 %"))));
}

}  // namespace
}  // namespace stallscope
