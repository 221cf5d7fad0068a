// What a process did with memory and code, as lines below the budget. Pure function of the report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/budget/report.h"
#include "tools/tui/budget_view.h"
#include "tools/tui/styled_text.h"

namespace stallscope::tui {

// 12884901888 -> "12.0 GiB"; 812 -> "812 B".
std::string ByteText(uint64_t bytes);

// Nothing for a process that did nothing of it.
std::vector<StyledLine> RenderMemory(const ProcessReport& process, const ViewOptions& options);

}  // namespace stallscope::tui
