#include "tools/cli/private_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace stallscope::cli {
namespace {

class PrivateFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    char pattern[] = "/tmp/stallscope-private-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  std::string folder_, before_;
};

TEST_F(PrivateFileTest, IsEmptyOursAloneAndOfANameOfItsOwn) {
  const auto one = MakePrivateFile("run"), other = MakePrivateFile("run");
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(*one, *other);
  EXPECT_THAT(*one, testing::StartsWith(folder_ + "/run-"));
  struct stat status = {};
  ASSERT_EQ(lstat(one->c_str(), &status), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(status.st_size, 0);
}

TEST_F(PrivateFileTest, AFolderThatIsNotThere_IsNamedWithWhatToDo) {
  setenv("TMPDIR", (folder_ + "/none").c_str(), 1);
  const auto made = MakePrivateFile("run");
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(std::string(made.status().message()), testing::HasSubstr(folder_ + "/none/run-"));
  EXPECT_THAT(std::string(made.status().message()), testing::EndsWith("Set TMPDIR to a folder of yours."));
}

TEST_F(PrivateFileTest, AnEmptyTmpdir_MeansTheUsualFolder) {
  setenv("TMPDIR", "", 1);
  const auto made = MakePrivateFile("stallscope-test");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(*made, testing::StartsWith("/tmp/stallscope-test-"));
  std::filesystem::remove(*made);
}

}  // namespace
}  // namespace stallscope::cli
