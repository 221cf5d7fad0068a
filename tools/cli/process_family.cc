#include "tools/cli/process_family.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace stallscope::cli {

ProcessFamily FamilyOf(const std::string& processes_document, uint32_t pid) {
  using Json = nlohmann::json;
  ProcessFamily family;
  const Json document = Json::parse(processes_document, nullptr, /*allow_exceptions=*/false);
  std::multimap<uint32_t, uint32_t> children;
  bool known = false, live = false;
  if (document.is_object() && document.contains("processes")) {
    for (const Json& process : document["processes"]) {
      if (!process.is_object() || !process.contains("pid") || !process["pid"].is_number_unsigned()) continue;
      const auto its_pid = process["pid"].get<uint32_t>();
      if (process.contains("parent_pid") && process["parent_pid"].is_number_unsigned()) {
        children.emplace(process["parent_pid"].get<uint32_t>(), its_pid);
      }
      if (its_pid != pid) continue;
      known = true;
      live = live || process.value("live", Json()) == true;
    }
  }
  std::vector<uint32_t> next = {pid};
  while (!next.empty()) {
    const uint32_t parent = next.back();
    next.pop_back();
    if (!family.pids.insert(parent).second) continue;
    for (auto [child, end] = children.equal_range(parent); child != end; ++child) next.push_back(child->second);
  }
  family.ended = known && !live;
  return family;
}

}  // namespace stallscope::cli
