// Reads the members "memory", "code_loads", "contexts" and "names" of a process in the budget's JSON. Members that are
// missing or of another type read as absent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "collector/budget/report.h"

namespace stallscope::tui {

void ReadMemory(const nlohmann::json& process_json, ProcessReport* process);

}  // namespace stallscope::tui
