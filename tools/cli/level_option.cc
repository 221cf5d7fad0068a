#include "tools/cli/level_option.h"

namespace stallscope::cli {

const std::vector<std::string>& LevelNames() {
  static const std::vector<std::string>& names = *new std::vector<std::string>{"budget", "kernels", "nodes", "stacks"};
  return names;
}

AskedLevel LevelOf(const std::string& name) {
  AskedLevel asked;
  if (name == "off") asked.level = wire::Level::kOff;
  if (name == "kernels") asked.level = wire::Level::kKernels;
  if (name == "nodes") asked.level = wire::Level::kNodes;
  asked.stacks = name == "stacks";
  return asked;
}

}  // namespace stallscope::cli
