// What a collector says of itself to scripts, a JSON object a line: `stallscoped --json`, `stallscope collect --json`.
#pragma once

#include <string>

#include "collector/main/collector.h"

namespace stallscope {

// {"pid","socket","http"}, once it listens.
std::string StartedJson(const Collector& collector);
// {"processes","events","socket_bytes","capture_bytes","notices":[text]}, at its end.
std::string EndedJson(const CollectorTotals& totals);

}  // namespace stallscope
