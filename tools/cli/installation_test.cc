#include "tools/cli/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

class Installation : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("STALLSCOPE_AGENT");
    std::string pattern = (fs::path(testing::TempDir()) / "installation_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ + "/bin");
  }
  void TearDown() override {
    unsetenv("STALLSCOPE_AGENT");
    fs::remove_all(root_);
  }
  std::string Touch(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << "x";
    return root_ + path;
  }
  std::string root_;
};

TEST_F(Installation, BuildFolderComesBeforeInstalled) {
  const std::string installed = Touch("/lib/stallscope/libstallscope.so");
  EXPECT_EQ(*FindAgent(root_ + "/bin"), installed);
  const std::string built = Touch("/lib/libstallscope.so");
  EXPECT_EQ(*FindAgent(root_ + "/bin"), built);
}

TEST_F(Installation, Variable_WinsAndMustExist) {
  Touch("/lib/libstallscope.so");
  const std::string own = Touch("/own.so");
  setenv("STALLSCOPE_AGENT", own.c_str(), 1);
  EXPECT_EQ(*FindAgent(root_ + "/bin"), own);
  setenv("STALLSCOPE_AGENT", "/nonexistent.so", 1);
  EXPECT_EQ(FindAgent(root_ + "/bin").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Installation, NothingThere_SaysWhatToDo) {
  EXPECT_THAT(std::string(FindAgent(root_ + "/bin").status().message()), testing::HasSubstr("STALLSCOPE_AGENT"));
}

}  // namespace
}  // namespace stallscope::cli
