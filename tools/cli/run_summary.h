// What `stallscope run` says at the end: budgets, over-wait, health, and where the capture lies.
#pragma once

#include <cstddef>
#include <string>

#include "collector/budget/report.h"
#include "collector/main/collector.h"

namespace stallscope::cli {

struct RunFacts {
  std::string capture_path;    // empty: none was asked for
  bool simulated_gpu = false;  // asked for on the command line
  bool command_started = true;
};

std::string RunSummary(const BudgetReport& report, const CollectorTotals& totals, const RunFacts& facts, size_t width,
                       bool ascii);

}  // namespace stallscope::cli
