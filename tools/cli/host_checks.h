// Doctor's checks of this machine and this installation.
#pragma once

#include <string>

#include "tools/cli/check.h"

namespace stallscope::cli {

Check CheckAgent(const std::string& program_folder);
Check CheckSharedMemory();
// `root` is "" or a folder that stands for / (tests).
Check CheckClock(const std::string& root);
Check CheckPtrace(const std::string& root);
Check CheckSocketFolder(const std::string& socket_path);
Check CheckCollector();

}  // namespace stallscope::cli
