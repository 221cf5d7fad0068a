// The three forms of a summary table: CSV (byte for byte what `nsys stats --format csv` prints), aligned text, JSON.
#pragma once

#include <string>
#include <vector>

#include "collector/tables/summary_tables.h"

namespace stallscope {

// Header line and one line a row, each ended by '\n'; a name that holds a comma, a quote or a line break is quoted.
std::string FormatCsv(const SummaryInfo& summary, const std::vector<DurationRow>& rows);

// A heading, column names, a rule and right-aligned numbers, for reading.
std::string FormatText(const SummaryInfo& summary, const std::vector<DurationRow>& rows);

// An array of objects whose keys are the column names; numbers are numbers.
std::string FormatJson(const SummaryInfo& summary, const std::vector<DurationRow>& rows);

}  // namespace stallscope
