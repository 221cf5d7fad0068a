#include "tools/attach/injection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tools/attach/loaded_agent.h"

// What an agent exports; this program stands in for a process that one is loaded in.
extern "C" {
__attribute__((visibility("default"), used)) uint32_t stallscope_agent_state = 0;
__attribute__((visibility("default"), used)) void stallscope_attach(stallscope::wire::AttachRequest*) {}
__attribute__((visibility("default"), used)) void stallscope_detach(stallscope::wire::AttachRequest*) {}
}

namespace stallscope::attach {
namespace {

using testing::HasSubstr;

std::string ThisProgram() { return std::filesystem::read_symlink("/proc/self/exe"); }

// Nothing here may come as far as stopping a thread: the target is this process.
class InjectionTest : public testing::Test {
 protected:
  InjectionTest() {
    target_.pid = getpid(), target_.name = "server", target_.threads = 1;
    target_.modules = ModulesOf(ParseMaps(ReadProcFile("/proc/self/maps")));
    options_.library = ThisProgram();
    options_.limit = absl::ZeroDuration();
  }
  void LoadAgent(wire::AgentState state) {
    stallscope_agent_state = static_cast<uint32_t>(state);
    for (const MappedModule& module : target_.modules) {
      if (module.path == ThisProgram()) target_.agent = &module;
    }
    ASSERT_NE(target_.agent, nullptr);
  }
  std::string AttachRefusal() const { return std::string(Attach(target_, options_).status().message()); }
  std::string DetachRefusal() const { return std::string(Detach(target_, options_.limit).status().message()); }

  TargetProcess target_;
  InjectionOptions options_;
};

TEST_F(InjectionTest, AModuleThatIsNoAgent_IsOneThatIsNotSetUp) {
  for (const MappedModule& module : target_.modules) {
    if (module.file_name() != "libc.so.6") continue;
    const LoadedAgent agent = LookAtAgent(getpid(), module);
    EXPECT_EQ(agent.state, wire::AgentState::kNotSetUp);
    EXPECT_EQ(agent.attach, 0u);
    target_.agent = &module;
  }
  EXPECT_THAT(AttachRefusal(), HasSubstr("an older agent is in it. Start it anew."));
  EXPECT_THAT(DetachRefusal(), HasSubstr("the agent does not record in it"));
}

TEST_F(InjectionTest, Recorded_CannotBeAttachedToAgain) {
  LoadAgent(wire::AgentState::kRecording);
  EXPECT_THAT(AttachRefusal(), HasSubstr("it is recorded already. stallscope top shows it"));
}

TEST_F(InjectionTest, TurnedOff_CannotBeAttachedToNorDetached) {
  LoadAgent(wire::AgentState::kOff);
  EXPECT_THAT(AttachRefusal(), HasSubstr("has turned itself off"));
  EXPECT_THAT(DetachRefusal(), HasSubstr("the agent does not record in it"));
}

TEST_F(InjectionTest, DetachOfWhatIsNotAttached_SaysWhichOfBoth) {
  EXPECT_THAT(DetachRefusal(), HasSubstr("the agent is not in it. stallscope ps lists what is recorded."));
  LoadAgent(wire::AgentState::kDetached);
  EXPECT_THAT(DetachRefusal(), HasSubstr("that was done before"));
}

TEST_F(InjectionTest, PathsThatDoNotFitIntoTheRequest_AreRefusedWhole) {
  options_.socket_path = std::string(112, 's');
  EXPECT_TRUE(absl::IsInvalidArgument(Attach(target_, options_).status()));
  EXPECT_THAT(AttachRefusal(), HasSubstr("the socket's path is too long"));
  options_.socket_path = "/tmp/s";
  options_.library = "/" + std::string(2048, 'l');
  EXPECT_TRUE(absl::IsInvalidArgument(Attach(target_, options_).status()));
  EXPECT_THAT(AttachRefusal(), HasSubstr("the agent's path is too long"));
}

TEST_F(InjectionTest, AnAgentThatTheProcessDoesNotSee_IsRefused) {
  options_.library = "/no/such/libstallscope.so";
  EXPECT_THAT(AttachRefusal(), HasSubstr("it does not see /no/such/libstallscope.so (a container, or another root)"));
}

}  // namespace
}  // namespace stallscope::attach
