// The stall budget as JSON of schema "stallscope.budget/1": what scripts read from `stallscope budget --json`,
// `stallscope top
// --once --json` and GET /api/v1/budget. Fields are only added.
//
// Nanoseconds and counts are integers; microseconds and shares are numbers. `lines` holds only lines with any time.
// `health.causes` has every cause by name, also those that never happened, counted since the process began; `agent.governor`
// (shares of wall time) and `batch` (means over the window's batches) are null where there is none.
// What cannot be said (microseconds per step without steps) is null, never zero. Text that is not UTF-8 gets U+FFFD in
// place of the bad bytes.
#pragma once

#include <string>

#include "collector/budget/report.h"

namespace stallscope {

// indent < 0: one line.
std::string BudgetReportToJson(const BudgetReport& report, int indent = -1);

}  // namespace stallscope
