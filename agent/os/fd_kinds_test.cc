#include "agent/os/fd_kinds.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "agent/entry/lifecycle.h"
#include "agent/os/fd_table.h"

namespace stallscope::agent {
namespace {

StreamingRound g_round = nullptr;

}  // namespace

// Stand-ins for the folders beside: the streaming thread's round is run by the tests.
FdEntry g_fd_table[kTrackedFds];
void AddStreamingRound(StreamingRound round) noexcept { g_round = round; }

namespace {

FdKind KindAfterRound(int fd) {
  EntryOf(fd)->kind_and_peer = static_cast<uint32_t>(FdKind::kAsked);
  EXPECT_TRUE(AskForKind(fd));
  g_round(0);
  return static_cast<FdKind>(EntryOf(fd)->kind_and_peer.load() & 0xff);
}

TEST(FdKinds, EachKindOfDescriptor_IsWhatTheKernelSays) {
  int pipe_ends[2], sockets[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const int event = eventfd(0, 0), file = open("/dev/null", O_WRONLY);
  EXPECT_EQ(KindAfterRound(pipe_ends[1]), FdKind::kPipe);
  EXPECT_EQ(KindAfterRound(sockets[0]), FdKind::kSocket);
  EXPECT_EQ(KindAfterRound(event), FdKind::kEventFd);
  EXPECT_EQ(KindAfterRound(file), FdKind::kQuiet);
  for (const int fd : {pipe_ends[0], pipe_ends[1], sockets[0], sockets[1], event, file}) close(fd);
  EXPECT_EQ(KindAfterRound(file), FdKind::kUnknown) << "closed";
}

TEST(FdKinds, DescriptorMadeAnewMeanwhile_KeepsWhatTheHookSaid) {
  const int file = open("/dev/null", O_WRONLY);
  ASSERT_TRUE(AskForKind(file));
  EntryOf(file)->kind_and_peer = static_cast<uint32_t>(FdKind::kPaired) | 7u << 8;
  g_round(0);
  EXPECT_EQ(EntryOf(file)->kind_and_peer, static_cast<uint32_t>(FdKind::kPaired) | 7u << 8);
  close(file);
}

TEST(FdKinds, MoreQuestionsThanPlaces_AreForAnotherTime) {
  int taken = 0;
  for (int fd = 1000; fd < 2000 && AskForKind(fd); ++fd) ++taken;
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 1000);
  EXPECT_TRUE(AskForKind(1000)) << "asked already";
  EXPECT_FALSE(AskForKind(5000));
  g_round(0);
  EXPECT_TRUE(AskForKind(5000));
  g_round(0);
}

}  // namespace
}  // namespace stallscope::agent
