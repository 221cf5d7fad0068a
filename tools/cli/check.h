// One thing that doctor looked at.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stallscope::cli {

enum class CheckState {
  kOk,
  kWarn,     // something will be missing or slower
  kMissing,  // what depends on it does not work
};

struct Check {
  std::string name;
  CheckState state = CheckState::kOk;
  std::string found;       // what is there, or why not
  std::string next;        // what to try; empty when fine
  bool main_road = false;  // without it nothing can be recorded: exit code 4
};

using Checks = std::vector<Check>;

}  // namespace stallscope::cli
