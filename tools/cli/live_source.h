// Where live numbers come from: a collector that is found by its address file, asked over HTTP.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "collector/budget/report.h"

namespace stallscope::cli {

// The HTTP address of the collector to ask: as given; else that of the collector on `socket`; else that of the default
// collector of this user; else the newest running one. Unavailable: there is none, or it has no HTTP address.
absl::StatusOr<std::string> FindHttpAddress(const std::string& http, const std::string& socket);

// The budget document (schema stallscope.budget/1) of the last `window_ns` (0: everything), as the collector wrote it.
absl::StatusOr<std::string> FetchBudgetDocument(const std::string& http_address, int64_t window_ns);

absl::StatusOr<BudgetReport> FetchBudget(const std::string& http_address, int64_t window_ns);

// The processes the collector knows (schema stallscope.processes/1), as the collector wrote it.
absl::StatusOr<std::string> FetchProcessesDocument(const std::string& http_address);

}  // namespace stallscope::cli
