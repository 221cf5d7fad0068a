#include "tools/cli/run_preparation.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PrepareCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : {"STALLSCOPE_AGENT", "STALLSCOPE_SIMGPU", "LD_PRELOAD", "LD_LIBRARY_PATH"})
      unsetenv(variable);
    std::string pattern = (fs::path(testing::TempDir()) / "preparation_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    Install(root_);
  }
  void TearDown() override {
    unsetenv("LD_PRELOAD");
    fs::remove_all(root_);
  }
  static void Install(const std::string& root) {
    fs::create_directories(root + "/bin");
    fs::create_directories(root + "/lib/simgpu");
    std::ofstream(root + "/lib/libstallscope.so") << "x";
  }
  static std::string Value(const ChildCommand& child, const std::string& variable) {
    for (const auto& [name, value] : child.environment) {
      if (name == variable) return value;
    }
    return "";
  }
  std::string root_;
};

TEST_F(PrepareCommandTest, Agent_StandsBeforeOtherPreloads) {
  setenv("LD_PRELOAD", "libjemalloc.so", 1);
  auto child = PrepareCommand({"/bin/sh", "-c", "true"}, {"kernels", false, root_ + "/bin"});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(Value(*child, "LD_PRELOAD"), root_ + "/lib/libstallscope.so:libjemalloc.so");
  EXPECT_EQ(Value(*child, "STALLSCOPE_LEVEL"), "kernels");
  EXPECT_EQ(Value(*child, "LD_LIBRARY_PATH"), "");
  EXPECT_EQ(child->arguments.size(), 3u);
}

TEST_F(PrepareCommandTest, SimulatedGpu_OnlyWhenAskedFor) {
  auto child = PrepareCommand({"/bin/sh"}, {"budget", true, root_ + "/bin"});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(Value(*child, "LD_LIBRARY_PATH"), root_ + "/lib/simgpu");
  fs::remove_all(root_ + "/lib/simgpu");
  EXPECT_EQ(PrepareCommand({"/bin/sh"}, {"budget", true, root_ + "/bin"}).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(PrepareCommandTest, PathThatTheLoaderWouldSplit_IsRefused) {
  Install(root_ + "/a b");
  auto child = PrepareCommand({"/bin/sh"}, {"budget", false, root_ + "/a b/bin"});
  EXPECT_THAT(std::string(child.status().message()), HasSubstr("blank or colon"));
}

TEST_F(PrepareCommandTest, MissingCommand_IsNotFoundAndMissingAgentIsNot) {
  EXPECT_EQ(PrepareCommand({"/nonexistent"}, {"budget", false, root_ + "/bin"}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(PrepareCommand({"/bin/sh"}, {"budget", false, root_}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace stallscope::cli
