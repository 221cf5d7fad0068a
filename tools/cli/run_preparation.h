// With what a command is started so that it is recorded, or why it cannot be.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/cli/child_process.h"

namespace stallscope::cli {

struct RecordingSetup {
  std::string level;           // one of LevelNames() (level_option.h)
  bool simulated_gpu = false;  // puts the simulated CUDA libraries before all others
  std::string program_folder;  // of this installation
};

// The command with the agent before all other preloads. NotFound: there is no such command; other errors: it cannot be
// recorded, or a part of this installation is missing.
absl::StatusOr<ChildCommand> PrepareCommand(const std::vector<std::string>& command, const RecordingSetup& setup);

}  // namespace stallscope::cli
