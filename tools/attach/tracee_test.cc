#include "tools/attach/tracee.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/attach/interruption.h"
#include "tools/attach/target_memory.h"
#include "tools/attach/target_process.h"
#include "tools/attach/undisturbed.h"

namespace stallscope::attach {
namespace {

// A child that waits for a byte, and answers with the result of its read.
class TraceeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(to_child_), 0);
    ASSERT_EQ(pipe(from_child_), 0);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      close(to_child_[1]);
      char byte = 0;
      while (true) {
        const ssize_t got = read(to_child_[0], &byte, 1);
        if (got == 0) _exit(7);
        byte = got == 1 ? byte : '!';  // an interrupted call
        if (write(from_child_[1], &byte, 1) != 1) _exit(8);
      }
    }
    close(to_child_[0]);
    AwaitItsRead();
  }
  void TearDown() override {
    close(to_child_[1]);
    if (child_ > 0) {
      int status = 0;
      EXPECT_EQ(waitpid(child_, &status, 0), child_);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;  // by the end of its input
    }
    close(from_child_[0]);
    close(from_child_[1]);
  }
  void AwaitItsRead() const {
    const std::string read_call = absl::StrCat(SYS_read, " ");
    while (!absl::StartsWith(ReadProcFile(absl::StrCat("/proc/", child_, "/syscall")), read_call)) sched_yield();
  }
  char Answer(char byte) const {
    EXPECT_EQ(write(to_child_[1], &byte, 1), 1);
    char answer = 0;
    EXPECT_EQ(read(from_child_[0], &answer, 1), 1);
    return answer;
  }

  int to_child_[2], from_child_[2];
  pid_t child_ = -1;
};

#define SEIZE_OR_SKIP(tracee)                                                           \
  const Waiting waiting;                                                                \
  if (const absl::Status seized = (tracee).Seize(); absl::IsPermissionDenied(seized)) { \
    GTEST_SKIP() << "this machine does not allow ptrace of a child: " << seized;        \
  } else {                                                                              \
    ASSERT_TRUE(seized.ok()) << seized;                                                 \
  }

TEST_F(TraceeTest, StoppedAndLetGo_ReadsOnAsIfNothingHadBeen) {
  {
    Tracee tracee(child_, child_);
    SEIZE_OR_SKIP(tracee);
    ASSERT_TRUE(tracee.Stop(absl::Seconds(10)).ok());
    const auto registers = tracee.Registers();
    ASSERT_TRUE(registers.ok());
    EXPECT_EQ(registers->orig_rax, static_cast<uint64_t>(SYS_read));
    EXPECT_EQ(HowInterrupted(static_cast<int64_t>(registers->rax)), Interrupted::kRestarts);
    ASSERT_TRUE(tracee.Continue().ok());
  }
  EXPECT_EQ(Answer('a'), 'a');
}

TEST_F(TraceeTest, MadeToMakeSystemCalls_AnswersAndComesBackToItsOwn) {
  {
    Tracee tracee(child_, child_);
    SEIZE_OR_SKIP(tracee);
    ASSERT_TRUE(tracee.Stop(absl::Seconds(10)).ok());
    const auto before = tracee.Registers();
    ASSERT_TRUE(before.ok());
    ASSERT_TRUE(tracee.Save(0).ok());
    const auto parent = tracee.SystemCall(SYS_getppid, {});
    ASSERT_TRUE(parent.ok()) << parent.status();
    EXPECT_EQ(*parent, getpid());
    const auto region =
        tracee.SystemCall(SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~uint64_t{0}, 0});
    ASSERT_TRUE(region.ok()) << region.status();
    const uint64_t value = 0x0123456789abcdef;
    EXPECT_TRUE(WriteMemory(child_, static_cast<uint64_t>(*region), &value, sizeof(value)));
    const auto bad = tracee.SystemCall(SYS_close, {~uint64_t{0}});
    ASSERT_TRUE(bad.ok());
    EXPECT_EQ(*bad, -EBADF);
    ASSERT_TRUE(tracee.PutBack().ok());
    const auto after = tracee.Registers();
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(after->rip, before->rip);
    EXPECT_EQ(after->rsp, before->rsp);
    EXPECT_EQ(after->orig_rax, before->orig_rax);
    EXPECT_EQ(after->rax, before->rax);
    ASSERT_TRUE(tracee.Continue().ok());
  }
  EXPECT_EQ(Answer('b'), 'b');
}

// Whatever happens: the destructor puts back what was saved.
TEST_F(TraceeTest, LeftInTheMiddle_IsPutBack) {
  {
    Tracee tracee(child_, child_);
    SEIZE_OR_SKIP(tracee);
    ASSERT_TRUE(tracee.Stop(absl::Seconds(10)).ok());
    ASSERT_TRUE(tracee.Save(0).ok());
    ASSERT_TRUE(tracee.SystemCall(SYS_getpid, {}).ok());
  }
  const std::string status = ReadProcFile(absl::StrCat("/proc/", child_, "/status"));
  EXPECT_NE(status.find("SigBlk:\t0000000000000000"), std::string::npos) << status;
  EXPECT_EQ(Answer('c'), 'c');
}

TEST_F(TraceeTest, ASecondTracer_IsDenied) {
  Tracee tracee(child_, child_);
  SEIZE_OR_SKIP(tracee);
  Tracee second(child_, child_);
  EXPECT_TRUE(absl::IsPermissionDenied(second.Seize()));
  ASSERT_TRUE(tracee.Stop(absl::Seconds(10)).ok());
}

TEST(Tracee, AThreadThatIsGone_IsNotFound) {
  Tracee tracee(1 << 30, 1 << 30);
  EXPECT_TRUE(absl::IsNotFound(tracee.Seize()));
  EXPECT_TRUE(tracee.gone());
}

}  // namespace
}  // namespace stallscope::attach
