// Where the parts of this installation lie: beside the program in a build folder, or below ../lib/stallscope when
// installed.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace stallscope::cli {

// Folder of the running program.
std::string ProgramFolder();

// libstallscope.so: $STALLSCOPE_AGENT, else ../lib/libstallscope.so, else ../lib/stallscope/libstallscope.so (from the
// program's folder).
absl::StatusOr<std::string> FindAgent(const std::string& program_folder);

// The folder of the simulated CUDA libraries: $STALLSCOPE_SIMGPU, else ../lib/simgpu, else ../lib/stallscope/simgpu.
absl::StatusOr<std::string> FindSimulatedGpu(const std::string& program_folder);

}  // namespace stallscope::cli
