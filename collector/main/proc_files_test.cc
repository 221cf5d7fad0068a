#include "collector/main/proc_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collector/main/thread_sampler.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// A folder that looks like /proc with one process, pid 42.
class FakeProc : public ::testing::Test {
 protected:
  FakeProc() : root(std::filesystem::path(::testing::TempDir()) / ("proc" + std::to_string(getpid()))), proc(root) {
    std::filesystem::remove_all(root);
  }
  ~FakeProc() override { std::filesystem::remove_all(root); }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void WriteStat(const std::string& folder, const std::string& name, char state, int threads, uint64_t start) {
    Write(folder + "/stat", "42 (" + name + ") " + state + " 1 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 " +
                                std::to_string(threads) + " 0 " + std::to_string(start) + " 1000 10\n");
  }
  void WriteThread(uint32_t tid, const std::string& name, uint64_t on_cpu, uint64_t delay, uint64_t runs) {
    const std::string folder = "42/task/" + std::to_string(tid);
    WriteStat(folder, name, 'S', 1, 500);
    Write(folder + "/schedstat",
          std::to_string(on_cpu) + " " + std::to_string(delay) + " " + std::to_string(runs) + "\n");
    Write(folder + "/status", "Name:\t" + name + "\nNSpid:\t" + std::to_string(tid) + "\t" +
                                  std::to_string(tid - 1000) +
                                  "\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n");
  }

  const std::filesystem::path root;
  const ProcFiles proc;
};

TEST_F(FakeProc, NameWithBlanksAndParentheses_DoesNotShiftTheFields) {
  WriteStat("42", "a) S 9 (b", 'R', 3, 777);
  const auto stat = proc.Process(42);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->name, "a) S 9 (b");
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->threads, 3u);
  EXPECT_EQ(stat->start_ticks, 777u);
  EXPECT_EQ(stat->cpu_ns, 200u * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK))));
}

TEST_F(FakeProc, CutOrMissingFile_IsNoProcess) {
  EXPECT_FALSE(proc.Process(42).has_value());
  Write("42/stat", "42 (x) S 1 2");
  EXPECT_FALSE(proc.Process(42).has_value());
  EXPECT_FALSE(proc.ThreadTimes(42, 42).has_value());
  EXPECT_TRUE(proc.Threads(42).empty());
}

TEST_F(FakeProc, Alive_MeansSameStartAndNoZombieWithoutThreads) {
  WriteStat("42", "x", 'S', 1, 777);
  EXPECT_TRUE(proc.IsAlive(42, 777));
  EXPECT_FALSE(proc.IsAlive(42, 778));  // the number was used again
  WriteStat("42", "x", 'Z', 1, 777);
  EXPECT_FALSE(proc.IsAlive(42, 777));
  WriteStat("42", "x", 'Z', 4, 777);  // its first thread has ended, the others go on
  EXPECT_TRUE(proc.IsAlive(42, 777));
  EXPECT_FALSE(proc.IsAlive(43, 0));
}

TEST_F(FakeProc, Sampler_NamesEachThreadOnceAndGivesItsOwnTid) {
  WriteThread(1042, "main", 100, 20, 5);
  WriteThread(1043, "worker", 50, 10, 2);
  ThreadSampler sampler(&proc, 42, 1'000'000'000);
  v1::Frame names, samples;
  sampler.Sample(9'000, &names, &samples);
  ASSERT_EQ(names.intern().threads_size(), 2);
  std::vector<uint32_t> tids;
  for (const auto& thread : names.intern().threads()) {
    tids.push_back(thread.tid());
    // 500 ticks since boot, less a second asleep.
    EXPECT_EQ(thread.begin_ns(), 500u * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK))) - 1'000'000'000);
  }
  EXPECT_THAT(tids, UnorderedElementsAre(42, 43));
  EXPECT_EQ(samples.batch().base_ns(), 9'000u);
  EXPECT_THAT(samples.batch().thread_samples().voluntary_switches(), ElementsAre(7, 7));
  EXPECT_THAT(samples.batch().thread_samples().involuntary_switches(), ElementsAre(3, 3));
}

TEST_F(FakeProc, Sampler_LeavesOutThreadsThatDidNotRun) {
  WriteThread(1042, "main", 100, 20, 5);
  WriteThread(1043, "worker", 50, 10, 2);
  ThreadSampler sampler(&proc, 42, 0);
  v1::Frame first_names, first, names, samples;
  sampler.Sample(1, &first_names, &first);
  WriteThread(1043, "worker", 90, 15, 3);
  sampler.Sample(2, &names, &samples);
  EXPECT_FALSE(names.has_intern());
  EXPECT_THAT(samples.batch().thread_samples().on_cpu_ns(), ElementsAre(90));
  EXPECT_THAT(samples.batch().thread_samples().run_delay_ns(), ElementsAre(15));
}

TEST_F(FakeProc, Sampler_ThreadThatNamesItselfLater_GetsItsNewName) {
  WriteThread(1042, "python3", 100, 20, 5);
  ThreadSampler sampler(&proc, 42, 0);
  v1::Frame first_names, first, names, samples;
  sampler.Sample(1, &first_names, &first);
  WriteThread(1042, "sampler", 120, 20, 6);
  sampler.Sample(2, &names, &samples);
  ASSERT_EQ(names.intern().threads_size(), 1);
  EXPECT_EQ(names.intern().threads(0).id(), first_names.intern().threads(0).id());
  EXPECT_EQ(names.intern().threads(0).name(), "sampler");
  EXPECT_EQ(samples.batch().thread_samples().on_cpu_ns_size(), 1);
}

TEST_F(FakeProc, Sampler_CountersThatWentBack_AreANewThread) {
  WriteThread(1042, "old", 100, 20, 5);
  ThreadSampler sampler(&proc, 42, 0);
  v1::Frame first_names, first, names, samples;
  sampler.Sample(1, &first_names, &first);
  WriteThread(1042, "new", 3, 0, 1);
  sampler.Sample(2, &names, &samples);
  ASSERT_EQ(names.intern().threads_size(), 1);
  EXPECT_NE(names.intern().threads(0).id(), first_names.intern().threads(0).id());
}

}  // namespace
}  // namespace stallscope
