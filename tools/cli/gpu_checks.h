// Doctor's checks of the GPU's driver and of the CUDA libraries that the loader finds.
#pragma once

#include <string>

#include "tools/cli/check.h"

namespace stallscope::cli {

// `root` is "" or a folder that stands for / (tests).
Check CheckDriver(const std::string& root);
Check CheckDevices(const std::string& root);

// Loads the newest libcudart and libcupti that the loader finds in a child process (a broken library must not take
// doctor with it) and asks them for their versions.
Check CheckCudart();
Check CheckCupti();

Check CheckSimulatedGpu(const std::string& program_folder);

}  // namespace stallscope::cli
