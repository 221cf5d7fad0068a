// Collector::Start with the real analysis. Apart from collector.cc, so that tests with an analysis of their own need
// not link it.
#include "collector/main/collector.h"
#include "collector/main/collector_impl.h"

namespace stallscope {

absl::StatusOr<std::unique_ptr<Collector>> Collector::Start(const CollectorOptions& options) {
  return StartCollector(options, [analysis = options.analysis](const ProcessInfo& process, const ProcessNames* names) {
    return ProcessAnalysis::Create(process, names, analysis);
  });
}

}  // namespace stallscope
