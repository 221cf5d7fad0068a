// The collector's inside: one thread with one event loop that owns everything. Public calls are handed to it and waited
// for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "collector/main/collector.h"
#include "collector/main/process_session.h"

namespace stallscope {

// As Collector::Start, with the analysis given and another /proc (tests).
absl::StatusOr<std::unique_ptr<Collector>> StartCollector(const CollectorOptions& options, AnalysisFactory factory,
                                                          const std::string& proc_root = "/proc");

}  // namespace stallscope
