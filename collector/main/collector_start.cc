// Collector::Start with the real analysis. Apart from collector.cc, so that tests with an analysis of their own need
// not link it.
#include "collector/main/collector.h"
#include "collector/main/collector_impl.h"
#include "collector/timeline/host_wakes.h"

namespace stallscope {

absl::StatusOr<std::unique_ptr<Collector>> Collector::Start(const CollectorOptions& options) {
  // One for all processes of the host; the last analysis gone, it goes too.
  auto host_wakes = std::make_shared<HostWakes>();
  AnalysisOptions analysis = options.analysis;
  analysis.host_wakes = host_wakes.get();
  return StartCollector(options, [analysis, host_wakes](const ProcessInfo& process, const ProcessNames* names) {
    return ProcessAnalysis::Create(process, names, analysis);
  });
}

}  // namespace stallscope
