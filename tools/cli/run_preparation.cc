#include "tools/cli/run_preparation.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/cli/installation.h"
#include "tools/cli/target_program.h"

namespace stallscope::cli {
namespace {

std::string BeforeOldValue(const std::string& first, const char* variable) {
  const char* old = std::getenv(variable);
  return old == nullptr || old[0] == '\0' ? first : absl::StrCat(first, ":", old);
}

}  // namespace

absl::StatusOr<ChildCommand> PrepareCommand(const std::vector<std::string>& command, const RecordingSetup& setup) {
  const char* search_path = std::getenv("PATH");
  absl::StatusOr<TargetProgram> target = InspectTarget(
      command[0], search_path != nullptr ? search_path : "/usr/local/bin:/usr/bin:/bin", Credentials::OfThisProcess());
  if (!target.ok()) return target.status();
  absl::StatusOr<std::string> agent = FindAgent(setup.program_folder);
  if (!agent.ok()) return agent.status();
  if (agent->find_first_of(" :") != std::string::npos) {
    return absl::UnavailableError(absl::StrCat(
        "the agent's path ", *agent, " has a blank or colon, where the loader ends a name. Install it elsewhere."));
  }
  ChildCommand child;
  child.path = target->path;
  child.arguments = command;
  child.environment = {{"LD_PRELOAD", BeforeOldValue(*agent, "LD_PRELOAD")}, {"STALLSCOPE_LEVEL", setup.level}};
  if (setup.simulated_gpu) {
    absl::StatusOr<std::string> simulated = FindSimulatedGpu(setup.program_folder);
    if (!simulated.ok()) return simulated.status();
    child.environment.emplace_back("LD_LIBRARY_PATH", BeforeOldValue(*simulated, "LD_LIBRARY_PATH"));
  }
  return child;
}

}  // namespace stallscope::cli
