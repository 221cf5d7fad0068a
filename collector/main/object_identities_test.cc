#include "collector/main/object_identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "collector/main/fake_unix_sockets.h"
#include "proto/wire/shm.h"
#include "proto/wire/unix_name.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A folder that looks like /proc with one process, pid 42.
class Identities : public ::testing::Test {
 protected:
  Identities()
      : root(std::filesystem::path(::testing::TempDir()) / ("identities" + std::to_string(getpid()))),
        proc(root),
        identities(&proc, 42, &sockets) {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root / "42/fd");
  }
  ~Identities() override { std::filesystem::remove_all(root); }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root / "42" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void Link(int fd, const std::string& to) {
    const std::filesystem::path path = root / "42/fd" / std::to_string(fd);
    std::filesystem::remove(path);
    std::filesystem::create_symlink(to, path);
  }
  void Introduce(uint64_t value) {
    v1::Intern intern;
    intern.add_objects()->set_value(value);
    identities.OnObjects(intern);
  }
  std::map<uint64_t, v1::Intern::Identity> LookUp(HostNs now) {
    v1::Intern found;
    identities.LookUp(now, &found);
    std::map<uint64_t, v1::Intern::Identity> by_value;
    for (const auto& identity : found.identities()) by_value[identity.value()] = identity;
    return by_value;
  }

  const std::filesystem::path root;
  const ProcFiles proc;
  FakeUnixSockets sockets;
  ObjectIdentities identities;
};

TEST_F(Identities, Pipe_IsItsInodeAtBothEnds) {
  Link(3, "pipe:[900]");
  Introduce(wire::FdObject(3));
  const auto found = LookUp(1);
  ASSERT_EQ(found.count(wire::FdObject(3)), 1u);
  EXPECT_EQ(found.at(wire::FdObject(3)).reaches(), "pipe 900");
  EXPECT_THAT(found.at(wire::FdObject(3)).reached_by(), ElementsAre("pipe 900"));
}

TEST_F(Identities, FileOfData_IsSaidToBeOne_MemoryAndDevicesAreNot) {
  Write("model.bin", "weights");
  Link(3, (root / "42/model.bin").string());
  Link(5, "/memfd:stallscope (deleted)");
  Link(6, "/dev/null");
  for (const int fd : {3, 5, 6}) Introduce(wire::FdObject(fd));
  const auto found = LookUp(1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at(wire::FdObject(3)).reaches(), "file");
  EXPECT_EQ(found.at(wire::FdObject(3)).reached_by_size(), 0);
}

TEST_F(Identities, NamedPipe_IsItsDeviceAndInode) {
  ASSERT_EQ(mkfifo((root / "42/fifo").c_str(), 0600), 0);
  Link(4, (root / "42/fifo").string());
  Link(5, (root / "42/fifo").string());
  Introduce(wire::FdObject(4));
  Introduce(wire::FdObject(5));
  const auto found = LookUp(1);
  const v1::Intern::Identity writer = found.at(wire::FdObject(4));
  EXPECT_EQ(writer.reaches().substr(0, 5), "fifo ");
  EXPECT_THAT(found.at(wire::FdObject(5)).reached_by(), ElementsAre(writer.reaches()));
}

uint64_t UnixName(const std::string& name) { return wire::UnixNameObject(name.data(), name.size()); }

TEST_F(Identities, UnixName_ReachesTheSocketBoundToIt) {
  sockets.answer = {{700, {.datagram = true, .name = "/run/in", .file = 1}},
                    {701, {.datagram = true, .name = std::string("\0in", 3)}},
                    {702, {.datagram = false, .name = "/run/stream"}}};
  Link(5, "socket:[700]");
  Introduce(wire::FdObject(5));
  Introduce(UnixName("/run/in"));
  Introduce(UnixName(std::string("\0in", 3)));
  Introduce(UnixName("/run/stream"));
  const auto found = LookUp(1);
  EXPECT_THAT(found.at(wire::FdObject(5)).reached_by(), ElementsAre("unix 700"));
  EXPECT_EQ(found.at(wire::FdObject(5)).reaches(), "") << "connected to nobody";
  EXPECT_EQ(found.at(UnixName("/run/in")).reaches(), "unix 700");
  EXPECT_EQ(found.at(UnixName(std::string("\0in", 3))).reaches(), "unix 701");
  EXPECT_EQ(found.count(UnixName("/run/stream")), 0u) << "nothing can be sent to a stream by name";
}

TEST_F(Identities, UnixName_IsFoundAsSeenFromTheSendersFolder) {
  sockets.answer = {{700, {.datagram = true, .name = "/run/server/in"}}};
  std::filesystem::create_symlink("/run/server", root / "42/cwd");
  Introduce(UnixName("in"));
  Introduce(UnixName("./in"));
  Introduce(UnixName("out"));
  const auto found = LookUp(1);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at(UnixName("in")).reaches(), "unix 700");
}

TEST_F(Identities, UnixNameBoundTwice_IsTheSocketThatThePathLeadsTo) {
  Write("root/run/in", "");
  struct stat status = {};
  ASSERT_EQ(stat((root / "42/root/run/in").c_str(), &status), 0);
  const auto there = static_cast<uint32_t>(status.st_ino);
  sockets.answer = {{700, {.datagram = true, .name = "/run/in", .file = there + 1}},
                    {701, {.datagram = true, .name = "/run/in", .file = there}}};
  Introduce(UnixName("/run/in"));
  EXPECT_EQ(LookUp(1).at(UnixName("/run/in")).reaches(), "unix 701");
}

TEST_F(Identities, SocketMadeJustAfterTheKernelWasAsked_IsLookedUpAsSoonAsItMay) {
  Link(5, "socket:[700]");
  Introduce(wire::FdObject(5));
  EXPECT_THAT(LookUp(1), IsEmpty());
  sockets.answer = {{800, {.peer = 801}}};
  Link(6, "socket:[800]");
  Introduce(wire::FdObject(6));
  EXPECT_THAT(LookUp(10'000'000), IsEmpty());
  EXPECT_FALSE(identities.wants_look(40'000'000));
  ASSERT_TRUE(identities.wants_look(60'000'000));
  EXPECT_EQ(LookUp(60'000'000).at(wire::FdObject(6)).reaches(), "unix 801");
  EXPECT_FALSE(identities.wants_look(200'000'000));
}

TEST_F(Identities, ProcessThatHasEnded_KeepsWhatItsDescriptorsWere) {
  Link(3, "pipe:[900]");
  Introduce(wire::FdObject(3));
  EXPECT_EQ(LookUp(1).size(), 1u);
  std::filesystem::remove_all(root / "42");
  EXPECT_THAT(LookUp(1'100'000'000), IsEmpty());
}

TEST_F(Identities, DescriptorClosed_IsNothingAnyMore) {
  Write("stat", "42 (server) S 1 42 42 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 3 0 777 1 1 1\n");
  Link(3, "pipe:[900]");
  Introduce(wire::FdObject(3));
  EXPECT_EQ(LookUp(1).size(), 1u);
  std::filesystem::remove(root / "42/fd/3");
  EXPECT_EQ(LookUp(1'100'000'000).at(wire::FdObject(3)).reaches(), "");
}

TEST_F(Identities, UnixSocket_ReachesItsPeer) {
  sockets.answer = {{700, {.peer = 701}}, {701, {.peer = 700}}};
  Link(5, "socket:[700]");
  Introduce(wire::FdObject(5));
  const auto found = LookUp(1);
  EXPECT_EQ(found.at(wire::FdObject(5)).reaches(), "unix 701");
  EXPECT_THAT(found.at(wire::FdObject(5)).reached_by(), ElementsAre("unix 700"));
}

TEST_F(Identities, LoopbackTcp_MatchesItsOtherEndAlsoThroughIpv6) {
  Write("net/tcp",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 10 1\n"
        "   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 11 1\n");
  Write("net/tcp6",
        "  sl  local_address                         remote_address                        st tx_queue\n"
        "   0: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C350 01 "
        "00000000:00000000 00:00000000 00000000     0        0 12 1\n");
  Link(6, "socket:[11]");
  Link(7, "socket:[12]");
  Introduce(wire::FdObject(6));
  Introduce(wire::FdObject(7));
  const auto found = LookUp(1);
  const v1::Intern::Identity client = found.at(wire::FdObject(6)), server = found.at(wire::FdObject(7));
  EXPECT_THAT(server.reached_by(), ElementsAre(client.reaches()));
  EXPECT_THAT(client.reached_by(), ElementsAre(server.reaches()));
}

TEST_F(Identities, EpollSet_IsReachedThroughItsMembers) {
  sockets.answer = {{700, {.peer = 701}}};
  Link(4, "anon_inode:[eventpoll]");
  Write("fdinfo/4", "pos:\t0\nflags:\t02\ntfd:        5 events:       19 data: 5\ntfd:        8 events: 19 data: 8\n");
  Link(5, "socket:[700]");
  Link(8, "anon_inode:[eventfd]");
  Write("fdinfo/8", "eventfd-count:                0\neventfd-id: 33\n");
  Introduce(wire::FdObject(4));
  const auto found = LookUp(1);
  EXPECT_EQ(found.at(wire::FdObject(4)).reaches(), "");
  EXPECT_THAT(found.at(wire::FdObject(4)).reached_by(), ElementsAre("eventfd 33", "unix 700"));
}

TEST_F(Identities, SharedMemory_IsDeviceInodeAndOffset_PrivateIsNothing) {
  Write("maps",
        "00400000-00401000 r-xp 00000000 08:01 77 /bin/program\n"
        "10000000-10002000 rw-s 00001000 00:1b 4711 /dev/shm/queue\n"
        "20000000-20001000 rw-p 00000000 00:00 0 [heap]\n");
  for (const uint64_t address : {0x10000040u, 0x20000040u, 0x30000000u}) Introduce(address);
  const auto found = LookUp(1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at(0x10000040).reaches(), "memory 00:1b 4711+4160");
}

TEST_F(Identities, DescriptorUsedAgain_IsSaidAgainAfterASecond) {
  Link(3, "pipe:[900]");
  Introduce(wire::FdObject(3));
  EXPECT_EQ(LookUp(1).size(), 1u);
  Link(3, "pipe:[901]");
  EXPECT_THAT(LookUp(500'000'000), IsEmpty());
  EXPECT_EQ(LookUp(1'100'000'000).at(wire::FdObject(3)).reaches(), "pipe 901");
  EXPECT_THAT(LookUp(2'200'000'000), IsEmpty()) << "nothing has changed";
}

TEST_F(Identities, UnknownSockets_DoNotAskTheKernelForEach) {
  for (int fd = 10; fd < 60; ++fd) {
    Link(fd, "socket:[" + std::to_string(5000 + fd) + "]");
    Introduce(wire::FdObject(fd));
  }
  EXPECT_THAT(LookUp(1), IsEmpty());
  EXPECT_EQ(sockets.asked, 1);
}

}  // namespace
}  // namespace stallscope
