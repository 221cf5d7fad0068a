#include "collector/memory/code_loads.h"

#include <algorithm>

namespace stallscope {
namespace {

constexpr HostNs kSecondNs = 1'000'000'000;
constexpr size_t kMaxThreads = 4096;
constexpr uint64_t kLargestCodeBytes = uint64_t{1} << 40;

}  // namespace

void CodeLoads::Sum::Add(const Sum& other) {
  count += other.count;
  bytes += other.bytes;
  total_ns += other.total_ns;
  longest_ns = std::max(longest_ns, other.longest_ns);
}

void CodeLoads::Count(size_t what, HostNs at, const Sum& one) {
  if (at < 0) return;
  total_[what].Add(one);
  const int64_t number = at / kSecondNs;
  Second& second = seconds_[static_cast<size_t>(number % kSeconds)];
  if (second.second > number) return;  // five minutes late
  if (second.second < number) second = {number, {}};
  second.sums[what].Add(one);
}

void CodeLoads::OnLoad(const CodeLoadEvent& load) {
  const int64_t length_ns = load.end - load.begin;
  if (load.kind == wire::CodeLoadKind::kModule && load.tid != 0) {
    // Told by the agent's callback and, where those records are on, by CUPTI.
    if (module_told_until_.size() >= kMaxThreads && !module_told_until_.contains(load.tid)) module_told_until_.clear();
    HostNs& told_until = module_told_until_[load.tid];
    if (load.begin < told_until) return;
    told_until = load.end;
  }
  Count(static_cast<size_t>(load.kind), load.end,
        {1, load.bytes <= kLargestCodeBytes ? load.bytes : 0, length_ns, length_ns});
}

void CodeLoads::OnCall(const CudaCallEvent& call) {
  if (call.call_class != wire::CudaCallClass::kModuleLoad) return;
  const int64_t length_ns = call.end - call.begin;
  Count(kCalls, call.end, {1, 0, length_ns, length_ns});
}

std::vector<CodeLoadReport> CodeLoads::Report(int64_t window_ns, HostNs now) const {
  Sums sums = total_;
  if (window_ns > 0) {
    sums = {};
    for (const Second& second : seconds_) {
      if (second.second < 0) continue;
      if (second.second * kSecondNs < now - window_ns || second.second * kSecondNs >= now) continue;
      for (size_t i = 0; i < sums.size(); ++i) sums[i].Add(second.sums[i]);
    }
  }
  std::vector<CodeLoadReport> report;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count == 0) continue;
    const char* what = i == kCalls           ? "calls that load modules"
                       : i == kFirstLaunches ? "first launches over 0.5 ms"
                                             : CodeLoadName(static_cast<wire::CodeLoadKind>(i));
    report.push_back({what, sums[i].count, sums[i].bytes, sums[i].total_ns, sums[i].longest_ns});
  }
  std::stable_sort(report.begin(), report.end(), [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return report;
}

}  // namespace stallscope
