#include "tools/cli/collector_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

class CollectorSocket : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::path(testing::TempDir()) / "sockets_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Touch(const std::string& name) {
    std::ofstream(folder_ + "/" + name) << "x";
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(CollectorSocket, LeftByADeadRun_IsRemovedAndNothingElse) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);  // now nobody has this pid
  const std::string dead = std::to_string(child), alive = std::to_string(getpid());
  const std::string left = Touch("run-" + dead + ".sock"), left_address = Touch("run-" + dead + ".sock.json");
  const std::string ours = Touch("run-" + alive + ".sock"), other = Touch("collector.sock"),
                    odd = Touch("run-" + dead + ".sockets");
  RemoveLeftSockets(folder_ + "/collector.sock");
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(left_address));
  EXPECT_TRUE(fs::exists(ours) && fs::exists(other) && fs::exists(odd));
}

TEST_F(CollectorSocket, OwnPath_LiesBesideTheDefault) {
  EXPECT_EQ(OwnSocketPath("/run/x/collector.sock"), "/run/x/run-" + std::to_string(getpid()) + ".sock");
}

TEST_F(CollectorSocket, SomebodyListens_OnlyWhereAListenerIs) {
  const std::string path = folder_ + "/s";
  EXPECT_FALSE(SomebodyListens(path));
  EXPECT_FALSE(SomebodyListens(std::string(200, 'x')));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_FALSE(SomebodyListens(path)) << "bound but not listening";
  ASSERT_EQ(listen(fd, 4), 0);
  EXPECT_TRUE(SomebodyListens(path));
  close(fd);
  EXPECT_FALSE(SomebodyListens(path)) << "the file alone is nobody";
}

}  // namespace
}  // namespace stallscope::cli
