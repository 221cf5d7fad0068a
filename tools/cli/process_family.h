// Which of a collector's processes belong to one command: the command itself, what it started, and so on.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace stallscope::cli {

struct ProcessFamily {
  std::set<uint32_t> pids;  // the command's own too, whether the collector knows it or not
  bool ended = false;       // the collector knows the command's process and has taken everything that it left
};

// `processes_document` is what FetchProcessesDocument returns; what cannot be read of it is left out. A child is known
// by the parent it had when it connected, so one that outlives its parent still counts; one below a program that is not
// recorded (a static one) does not.
ProcessFamily FamilyOf(const std::string& processes_document, uint32_t pid);

}  // namespace stallscope::cli
