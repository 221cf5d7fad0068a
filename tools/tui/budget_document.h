// Reads the JSON document of schema stallscope.budget/1 back into a report, so that views have one input whether the
// numbers came from this process or over HTTP.
//
// A foreign or later document: unknown members are skipped, unknown lines are an error (they would be missing in the
// sum).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "collector/budget/report.h"

namespace stallscope::tui {

absl::StatusOr<BudgetReport> ParseBudgetDocument(const std::string& json);

}  // namespace stallscope::tui
