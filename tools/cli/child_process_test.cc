#include "tools/cli/child_process.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "gtest/gtest.h"

namespace stallscope::cli {
namespace {

ChildCommand Shell(const std::string& script) { return {"/bin/sh", {"sh", "-c", script}, {}, ""}; }

int RunShell(const std::string& script) {
  ChildProcess child;
  EXPECT_TRUE(child.Start(Shell(script)).ok());
  return child.Wait(1000, nullptr);
}

TEST(ChildProcess, ExitCode_IsTheCommands) { EXPECT_EQ(RunShell("exit 37"), 37); }

TEST(ChildProcess, KilledBySignal_Is128PlusN) { EXPECT_EQ(RunShell("kill -9 $$"), 137); }

TEST(ChildProcess, SignalMask_IsNotInherited) {
  // Blocked SIGTERM would let the shell go on to exit 0.
  EXPECT_EQ(RunShell("kill -TERM $$; exit 0"), 143);
}

TEST(ChildProcess, SignalToUs_ReachesTheChild) {
  ChildProcess child;
  ASSERT_TRUE(child.Start(Shell("trap 'exit 9' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done")).ok());
  EXPECT_EQ(child.Wait(1000, nullptr), 9);
}

TEST(ChildProcess, Environment_ReplacesAndAdds) {
  setenv("STALLSCOPE_TEST_OLD", "old", 1);
  ChildProcess child;
  ChildCommand command = Shell("[ \"$STALLSCOPE_TEST_OLD\" = new ] && [ \"$STALLSCOPE_TEST_ADDED\" = yes ]");
  command.environment = {{"STALLSCOPE_TEST_OLD", "new"}, {"STALLSCOPE_TEST_ADDED", "yes"}};
  ASSERT_TRUE(child.Start(command).ok());
  EXPECT_EQ(child.Wait(1000, nullptr), 0);
}

TEST(ChildProcess, OutputFile_TakesBothStreams) {
  const std::string path = testing::TempDir() + "/child_output_" + std::to_string(getpid());
  ChildProcess child;
  ChildCommand command = Shell("echo out; echo err >&2");
  command.output_path = path;
  ASSERT_TRUE(child.Start(command).ok());
  EXPECT_EQ(child.Wait(1000, nullptr), 0);
  std::ifstream file(path);
  std::string first, second;
  file >> first >> second;
  EXPECT_EQ(first + second, "outerr");
  unlink(path.c_str());
}

TEST(ChildProcess, OutputFileThatCannotBe_NamesTheFile) {
  ChildProcess child;
  ChildCommand command = Shell("exit 0");
  command.output_path = "/nonexistent/output";
  EXPECT_NE(child.Start(command).message().find("/nonexistent/output"), std::string::npos);
}

}  // namespace
}  // namespace stallscope::cli
