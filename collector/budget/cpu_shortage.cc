#include "collector/budget/cpu_shortage.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace stallscope {
namespace {

constexpr HostNs kSecondNs = 1'000'000'000;
constexpr size_t kMaxThreads = 1 << 16;
// Worth a line: runnable threads that stood still for this share of their time, and by this much of one thread in all.
constexpr double kDelayShare = 0.05, kDelayedThreads = 0.1;
// The process itself wants more than it may have.
constexpr double kOwnDoing = 1.05;

}  // namespace

void CpuShortage::Sums::Add(const Sums& other) {
  on_cpu_ns += other.on_cpu_ns;
  run_delay_ns += other.run_delay_ns;
  involuntary += other.involuntary;
  throttled_ns += other.throttled_ns;
  throttled_times += other.throttled_times;
}

CpuShortage::Sums* CpuShortage::At(HostNs at) {
  const int64_t second = at / kSecondNs;
  Sums* sums = &seconds_[static_cast<size_t>(second % kSeconds)];
  if (sums->second > second) return nullptr;  // five minutes late
  if (sums->second < second) {
    *sums = {};
    sums->second = second;
  }
  return sums;
}

void CpuShortage::Count(HostNs at, const Sums& more) {
  total_.Add(more);
  if (Sums* sums = At(at)) sums->Add(more);
}

void CpuShortage::OnSample(const ThreadSampleEvent& sample) {
  if (sample.at < 0) return;
  first_ = std::min(first_, sample.at);
  last_ = std::max(last_, sample.at);
  if (last_of_thread_.size() >= kMaxThreads && !last_of_thread_.contains(sample.thread)) return;
  const auto [found, fresh] = last_of_thread_.try_emplace(sample.thread, sample);
  ThreadSampleEvent& before = found->second;
  const bool went_on = sample.on_cpu_ns >= before.on_cpu_ns && sample.run_delay_ns >= before.run_delay_ns;
  if (!fresh && went_on) {
    Sums more;
    more.on_cpu_ns = sample.on_cpu_ns - before.on_cpu_ns;
    more.run_delay_ns = sample.run_delay_ns - before.run_delay_ns;
    if (sample.involuntary_switches > before.involuntary_switches) {
      more.involuntary = sample.involuntary_switches - before.involuntary_switches;
    }
    Count(sample.at, more);
  }
  before = sample;
}

void CpuShortage::OnThrottled(HostNs at, uint64_t throttled_ns, uint64_t times) {
  if (at < 0) return;
  Sums more;
  if (throttled_ns > throttled_ns_) more.throttled_ns = throttled_ns - throttled_ns_;
  if (times > throttled_times_) more.throttled_times = times - throttled_times_;
  throttled_ns_ = throttled_ns, throttled_times_ = times;
  first_ = std::min(first_, at);
  last_ = std::max(last_, at);
  Count(at, more);
}

std::vector<std::string> CpuShortage::Lines(int64_t window_ns, HostNs now) const {
  std::vector<std::string> lines;
  if (last_ == INT64_MIN) return lines;
  Sums sums = total_;
  HostNs begin = first_, end = last_;
  if (window_ns > 0) {
    sums = {};
    begin = std::max(first_, now - window_ns), end = std::min(last_, now);
    for (const Sums& second : seconds_) {
      if (second.second * kSecondNs >= now - window_ns && second.second * kSecondNs < now && second.second >= 0) {
        sums.Add(second);
      }
    }
  }
  if (end - begin < kSecondNs / 2) return lines;
  const auto wall_ns = static_cast<double>(end - begin);
  const auto runnable_ns = static_cast<double>(sums.on_cpu_ns + sums.run_delay_ns);
  const double wanted = runnable_ns / wall_ns,
               share = static_cast<double>(sums.run_delay_ns) / std::max(runnable_ns, 1.0);
  const double cpus = static_cast<double>(millicpus_) / 1000;
  if (share >= kDelayShare && static_cast<double>(sums.run_delay_ns) / wall_ns >= kDelayedThreads) {
    std::string line;
    if (cpus > 0 && wanted > cpus * kOwnDoing) {
      line = absl::StrFormat("CPU oversubscription: on average %.1f threads wanted to run on %.4g CPUs%s", wanted, cpus,
                             by_quota_ ? " (the cgroup's quota)" : "");
    } else if (cpus > 0) {
      line = absl::StrFormat(
          "other programs took the CPU: on average %.1f threads wanted to run, on %.4g CPUs that others use too",
          wanted, cpus);
    } else {
      line = absl::StrFormat("CPUs were short: on average %.1f threads wanted to run", wanted);
    }
    absl::StrAppendFormat(&line,
                          "; a runnable thread stood still %.0f %% of its time, %.0f involuntary switches a second",
                          share * 100, static_cast<double>(sums.involuntary) / (wall_ns / 1e9));
    lines.push_back(std::move(line));
  }
  if (sums.throttled_times > 0) {
    std::string line = absl::StrFormat("CPU quota: the cgroup stopped this process %d times, for %.0f ms",
                                       sums.throttled_times, static_cast<double>(sums.throttled_ns) / 1e6);
    if (by_quota_) absl::StrAppendFormat(&line, " (quota %.4g CPUs)", cpus);
    lines.push_back(line + "; raise its cpu.max or use fewer threads");
  }
  return lines;
}

}  // namespace stallscope
