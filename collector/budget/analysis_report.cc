// The report of a window, put together from what the analysis knows.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/budget/agent_report.h"
#include "collector/budget/analysis.h"
#include "collector/budget/report_text.h"

namespace stallscope {
namespace {

// A window that ends so long before now says so.
constexpr int64_t kLagWorthSayingNs = 1'000'000'000;

// How much a lost record takes from the confidence in the steps, as a multiple of its share of all records.
constexpr double kLossWeight = 4;

}  // namespace

ProcessReport Analysis::Report(int64_t window_ns, HostNs now) const {
  ProcessReport report;
  // While steps wait for their records the latest window is the one before them, not an empty one.
  HostNs window_end = now;
  if (!open_steps_.empty() && closed_until_ != INT64_MIN) {
    window_end = std::clamp(closed_until_, now - options_.late_limit_ns - 2 * kReorderNs, now);
  }
  const WindowSums sums = windows_.Sum(window_ns, window_end);
  report.pid = process_.identity.pid;
  report.process_name = process_.process_name;
  report.simulated_gpu = simulated_gpu_;
  report.gpu = !device_name_.empty() ? device_name_ : simulated_gpu_ ? "simulated GPU" : "";
  report.steps = sums.steps;
  report.tokens = sums.tokens;
  StepFinder::Verdict verdict = finder_.Describe();
  report.tokens_source = std::move(verdict.tokens_source);
  report.segmentation_method = std::move(verdict.method);
  report.segmentation_confidence = verdict.confidence;
  report.segmentation_why = std::move(verdict.why);
  if (sums.dropped > 0 && verdict.confidence > 0) {
    // A lost read-back or wait costs a step; each step needs several records, so its share of lost steps is a multiple.
    const double lost = static_cast<double>(sums.dropped) / static_cast<double>(sums.dropped + sums.events);
    report.segmentation_confidence *= std::max(0.0, 1 - kLossWeight * lost);
    absl::StrAppend(&report.segmentation_why, "; less for ", sums.dropped, " lost records");
  }
  report.begin = sums.first_begin;
  report.end = sums.last_end;
  report.wall_ns = sums.wall_ns;
  LineSums lines = sums.lines;
  const std::string graph_split = graph_mix_.Split(timeline_.latest(), &lines);
  for (size_t i = 0; i < kLineCount; ++i) {
    report.lines[i].ns = lines[i];
    report.lines[i].hidden_ns = sums.hidden[i];
    const Cause& cause = sums.notes[i].Largest();
    if (cause.key != 0 && cause.ns * 2 >= sums.lines[i]) report.lines[i].note = TextOfCause(cause, &names_);
  }
  report.itl_p50_ns = sums.itl.Quantile(0.50);
  report.itl_p90_ns = sums.itl.Quantile(0.90);
  report.itl_p99_ns = sums.itl.Quantile(0.99);
  report.itl_max_ns = sums.itl.max();
  for (const SyncSums& sync : sums.syncs) {
    const std::string_view name = names_.CallName(static_cast<wire::CudaDomain>(sync.name_key >> 16),
                                                  static_cast<uint16_t>(sync.name_key & 0xffff));
    report.syncs.push_back({std::string(WithoutVersion(name)), sync.calls, sync.total_ns, sync.over_wait_ns,
                            sync.idle_inside_ns, sync.unneeded_ns, sync.within_clock_error_ns});
  }
  std::stable_sort(report.syncs.begin(), report.syncs.end(),
                   [](const SyncReport& a, const SyncReport& b) { return a.total_ns > b.total_ns; });
  report.health = {sums.events, sums.dropped, sums.late, sums.clamped, sums.unmatched};
  const OwnCauses causes = {timeline_.counts().NeverDelivered(), graph_mix_.reused_ids()};
  ReportAgent({level_, gpu_clock_uncertainty_ns_, &health_, causes}, &report);
  report.batch = MeansOf(batch_source_, sums.batch);
  report.memory = memory_.Report(window_ns, now, names_);
  report.code_loads = code_loads_.Report(window_ns, now);
  report.contexts = gpu_places_.Contexts();
  report.names = gpu_places_.Names();
  for (std::string& line : gpu_places_.Notices()) report.notices.push_back(std::move(line));
  if (!graph_split.empty()) report.notices.push_back(graph_split);
  if (!cupti_notice_.empty()) report.notices.push_back(cupti_notice_);
  for (std::string& line : cpu_shortage_.Lines(window_ns, now)) report.notices.push_back(std::move(line));
  if (window_ns > 0 && now - window_end >= kLagWorthSayingNs) {
    report.notices.push_back(absl::StrCat("the steps of the last ", (now - window_end + 50'000'000) / 100'000'000 * 100,
                                          " ms wait for GPU records: the window ends before them"));
  }
  return report;
}

}  // namespace stallscope
