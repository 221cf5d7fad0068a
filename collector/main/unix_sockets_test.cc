#include "collector/main/unix_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>

#include "collector/main/fake_unix_sockets.h"
#include "collector/main/proc_files.h"
#include "proto/wire/unix_name.h"

namespace stallscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

uint64_t InodeOf(int fd) {
  const std::string link = ProcFiles().DescriptorLink(static_cast<uint32_t>(getpid()), static_cast<uint32_t>(fd));
  return std::stoull(link.substr(link.find('[') + 1));
}

uint64_t NumberOf(const std::string& name) { return wire::UnixNameObject(name.data(), name.size()); }

// A datagram socket with that name; the address is as long as the name wants it.
int Bound(const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  EXPECT_LT(name.size(), sizeof(address.sun_path));
  name.copy(address.sun_path, name.size());
  const size_t bytes = offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '\0' ? 0 : 1);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(bytes)), 0);
  return fd;
}

// The kernel's own answers, of sockets made here.
TEST(UnixSockets, SocketPair_FindsTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  UnixSockets sockets;
  const UnixSockets::Socket* found = sockets.Find(InodeOf(ends[0]), 1);
  if (found == nullptr) GTEST_SKIP() << "the kernel answers no sock_diag here";
  EXPECT_EQ(found->peer, InodeOf(ends[1]));
  EXPECT_FALSE(found->datagram);
  close(ends[0]);
  close(ends[1]);
}

TEST(UnixSockets, DatagramSocketBoundToAPath_IsFoundByItsName) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("bound" + std::to_string(getpid()))).string();
  const int fd = Bound(path);
  UnixSockets sockets;
  const UnixSockets::Socket* found = sockets.Find(InodeOf(fd), 1);
  if (found == nullptr) GTEST_SKIP() << "the kernel answers no sock_diag here";
  EXPECT_TRUE(found->datagram);
  EXPECT_EQ(found->name, path);
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(found->file, static_cast<uint32_t>(status.st_ino));
  EXPECT_THAT(sockets.Named(NumberOf(path), 1), ElementsAre(InodeOf(fd)));
  close(fd);
  unlink(path.c_str());
}

TEST(UnixSockets, AbstractName_IsFoundWithTheNulThatItBeginsWith) {
  const std::string name = std::string(1, '\0') + "stallscope-test-" + std::to_string(getpid());
  const int fd = Bound(name);
  UnixSockets sockets;
  const UnixSockets::Socket* found = sockets.Find(InodeOf(fd), 1);
  if (found == nullptr) GTEST_SKIP() << "the kernel answers no sock_diag here";
  EXPECT_EQ(found->name, name);
  EXPECT_EQ(found->file, 0u);
  EXPECT_THAT(sockets.Named(NumberOf(name), 1), ElementsAre(InodeOf(fd)));
  EXPECT_THAT(sockets.Named(NumberOf(name.substr(1)), 1), IsEmpty());
  close(fd);
}

TEST(UnixSockets, WhatIsNotKnown_IsAskedForAgainButNotAtOnce) {
  FakeUnixSockets sockets;
  EXPECT_EQ(sockets.Find(7, 0), nullptr);
  sockets.answer[7].peer = 8;
  EXPECT_EQ(sockets.Find(7, UnixSockets::kAskAgainNs - 1), nullptr);
  EXPECT_EQ(sockets.asked, 1);
  ASSERT_NE(sockets.Find(7, UnixSockets::kAskAgainNs), nullptr);
  EXPECT_EQ(sockets.Find(7, 10 * UnixSockets::kAskAgainNs)->peer, 8u);
  EXPECT_EQ(sockets.asked, 2) << "what is known is not asked for";
}

TEST(UnixSockets, NameTakenOverByAnotherSocket_IsNoticedAfterAWhile) {
  FakeUnixSockets sockets;
  sockets.answer[7] = {0, true, "/run/server", 3};
  EXPECT_THAT(sockets.Named(NumberOf("/run/server"), 0), ElementsAre(7u));
  sockets.answer = {{9, {0, true, "/run/server", 4}}};
  EXPECT_THAT(sockets.Named(NumberOf("/run/server"), UnixSockets::kAskAgainNs), ElementsAre(7u));
  EXPECT_THAT(sockets.Named(NumberOf("/run/server"), 1'000'000'000), ElementsAre(9u));
}

TEST(UnixSockets, StreamSocketsName_IsNobodyToSendTo) {
  FakeUnixSockets sockets;
  sockets.answer[7] = {0, false, "/run/server", 3};
  EXPECT_THAT(sockets.Named(NumberOf("/run/server"), 0), IsEmpty());
}

}  // namespace
}  // namespace stallscope
