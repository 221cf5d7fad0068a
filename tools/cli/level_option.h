// The levels of detail by name: one list for run, attach and level.
#pragma once

#include <string>
#include <vector>

#include "proto/wire/shm.h"

namespace stallscope::cli {

// What a recording can begin with.
const std::vector<std::string>& LevelNames();

inline constexpr char kLevelHelp[] =
    "detail: budget, kernels, nodes, or stacks (budget, with stacks of calls of 0.1 ms and more)";

struct AskedLevel {
  wire::Level level = wire::Level::kBudget;
  bool stacks = false;
};
// Of one of LevelNames(), or of "off".
AskedLevel LevelOf(const std::string& name);

}  // namespace stallscope::cli
