#include "tools/attach/loaded_agent.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tools/attach/target_process.h"

// This program stands in for a process that an agent is loaded in (injection_test.cc).
extern "C" {
extern uint32_t stallscope_agent_state;
void stallscope_attach(stallscope::wire::AttachRequest*);
void stallscope_detach(stallscope::wire::AttachRequest*);
}

namespace stallscope::attach {
namespace {

std::string ThisProgram() { return std::filesystem::read_symlink("/proc/self/exe"); }

LoadedAgent LookAt(const std::string& file_name) {
  for (const MappedModule& module : ModulesOf(ParseMaps(ReadProcFile("/proc/self/maps")))) {
    if (module.file_name() == file_name) return LookAtAgent(getpid(), module);
  }
  ADD_FAILURE() << "no module " << file_name;
  return {};
}

TEST(LoadedAgent, InAProcess_IsReadFromItsOwnTables) {
  stallscope_agent_state = static_cast<uint32_t>(wire::AgentState::kDetached);
  const LoadedAgent agent = LookAt(std::filesystem::path(ThisProgram()).filename());
  EXPECT_EQ(agent.state, wire::AgentState::kDetached);
  EXPECT_EQ(agent.attach, reinterpret_cast<uint64_t>(&stallscope_attach));
  EXPECT_EQ(agent.detach, reinterpret_cast<uint64_t>(&stallscope_detach));
}

TEST(LoadedAgent, ModuleThatIsNone_IsNotSetUp) {
  const LoadedAgent agent = LookAt("libc.so.6");
  EXPECT_EQ(agent.state, wire::AgentState::kNotSetUp);
  EXPECT_EQ(agent.attach, 0u);
}

TEST(SeesTheSameFile, OnlyWhereBothAreThereAndOne) {
  EXPECT_TRUE(SeesTheSameFile(getpid(), ThisProgram()));
  EXPECT_FALSE(SeesTheSameFile(getpid(), "/no/such/file"));
  EXPECT_FALSE(SeesTheSameFile(1 << 30, ThisProgram()));
}

}  // namespace
}  // namespace stallscope::attach
