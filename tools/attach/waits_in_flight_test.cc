#include "tools/attach/waits_in_flight.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace stallscope::attach {
namespace {

// A thread of this process that waits for a byte from a pipe.
class PipeReader {
 public:
  explicit PipeReader(const char* name) {
    EXPECT_EQ(pipe(ends_), 0);
    thread_ = std::thread([this, name] {
      pthread_setname_np(pthread_self(), name);
      tid_ = static_cast<int>(syscall(SYS_gettid));
      char byte;
      EXPECT_EQ(read(ends_[0], &byte, 1), 1);
      read_ = true;
      while (!may_end_) sched_yield();
    });
    while (tid_ == 0) sched_yield();
    // Until it has come as far as the call.
    while (true) {
      const auto call = ParseParkedCall(ReadSyscallFile());
      if (call.has_value() && call->number == SYS_read) break;
      sched_yield();
    }
  }
  ~PipeReader() {
    if (!read_) Feed();
    may_end_ = true;
    thread_.join();
    close(ends_[0]);
    close(ends_[1]);
  }
  void Feed() {
    EXPECT_EQ(write(ends_[1], "x", 1), 1);
    while (!read_) sched_yield();
  }
  int tid() const { return tid_; }
  int descriptor() const { return ends_[0]; }

 private:
  std::string ReadSyscallFile() const;

  int ends_[2];
  std::atomic<int> tid_{0};
  std::atomic<bool> read_{false}, may_end_{false};
  std::thread thread_;
};

std::string PipeReader::ReadSyscallFile() const {
  char text[256] = "";
  FILE* file = fopen(absl::StrCat("/proc/self/task/", tid_.load(), "/syscall").c_str(), "r");
  if (file == nullptr) return "";
  const size_t bytes = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  return std::string(text, bytes);
}

TEST(WaitsInFlight, AThreadThatWaitsStill_IsNamedWithItsCallAndItsPipe) {
  const PipeReader reader("reader");
  const ParkedThreads parked = FindParked(getpid());
  ASSERT_EQ(parked.count(reader.tid()), 1u);
  const auto waits = DescribeStillParked(getpid(), {{reader.tid(), parked.at(reader.tid())}});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].tid, reader.tid());
  EXPECT_EQ(waits[0].thread_name, "reader");
  EXPECT_EQ(waits[0].call, "read");
  EXPECT_TRUE(absl::StartsWith(waits[0].object, absl::StrCat("fd ", reader.descriptor(), " pipe:[")))
      << waits[0].object;
}

TEST(WaitsInFlight, AThreadThatHasGoneOn_IsLeftOut) {
  PipeReader reader("reader");
  const ParkedThreads parked = FindParked(getpid());
  ASSERT_EQ(parked.count(reader.tid()), 1u);
  reader.Feed();
  EXPECT_TRUE(DescribeStillParked(getpid(), {{reader.tid(), parked.at(reader.tid())}}).empty());
}

TEST(WaitsInFlight, TheAgentsOwnThreads_AreLeftOut) {
  const PipeReader ours("stallscope");
  EXPECT_EQ(FindParked(getpid()).count(ours.tid()), 0u);
}

TEST(WaitsInFlight, AProcessThatIsGone_HasNone) {
  EXPECT_TRUE(FindParked(1 << 30).empty());
  EXPECT_TRUE(DescribeStillParked(1 << 30, {{1 << 30, {}}}).empty());
  EXPECT_EQ(ThreadNameOf(1 << 30, 1 << 30), "");
}

}  // namespace
}  // namespace stallscope::attach
