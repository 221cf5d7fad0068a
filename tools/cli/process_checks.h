// Doctor's checks of one running process.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/check.h"

namespace stallscope::cli {

// `root` is "" or a folder with a proc/PID below (tests).
Checks CheckProcess(const std::string& root, uint32_t pid);

}  // namespace stallscope::cli
