#include "collector/main/cpu_limits.h"

#include <bit>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope {
namespace {

constexpr int64_t kReadAgainNs = 1'000'000'000;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The number after a label; -1 when there is none ("max", "-1").
int64_t NumberAfter(const std::string& text, std::string_view label) {
  const size_t at = text.find(label);
  if (at == std::string::npos) return -1;
  const char* begin = text.data() + at + label.size();
  const char* end = text.data() + text.size();
  while (begin < end && (*begin == ' ' || *begin == '\t')) ++begin;
  int64_t value = -1;
  std::from_chars(begin, end, value);
  return value;
}

uint32_t CountBits(std::string_view mask) {
  uint32_t count = 0;
  for (const char digit : mask) {
    unsigned value = 0;
    if (std::from_chars(&digit, &digit + 1, value, 16).ec == std::errc())
      count += static_cast<uint32_t>(std::popcount(value));
  }
  return count;
}

void Tighten(int64_t quota_us, int64_t period_us, CpuAllowance* allowance) {
  const auto millicpus = static_cast<uint64_t>(quota_us) * 1000 / static_cast<uint64_t>(period_us);
  if (allowance->quota_millicpus == 0 || millicpus < allowance->quota_millicpus) allowance->quota_millicpus = millicpus;
}

}  // namespace

void CpuLimits::ReadGroup(const std::string& folder, bool unified, CpuAllowance* allowance) const {
  int64_t quota_us, period_us;
  if (unified) {
    const std::string max = ReadAll(folder + "/cpu.max");  // "50000 100000", or "max 100000"
    quota_us = NumberAfter(max, "");
    period_us = quota_us > 0 ? NumberAfter(max, " ") : -1;
  } else {
    quota_us = NumberAfter(ReadAll(folder + "/cpu.cfs_quota_us"), "");
    period_us = NumberAfter(ReadAll(folder + "/cpu.cfs_period_us"), "");
  }
  if (quota_us <= 0 || period_us <= 0) return;
  Tighten(quota_us, period_us, allowance);
  const std::string stat = ReadAll(folder + "/cpu.stat");
  const int64_t times = NumberAfter(stat, "nr_throttled ");
  const int64_t ns = unified ? NumberAfter(stat, "throttled_usec ") * 1000 : NumberAfter(stat, "throttled_time ");
  if (times > 0) allowance->throttled_times += static_cast<uint64_t>(times);
  if (ns > 0) allowance->throttled_ns += static_cast<uint64_t>(ns);
}

CpuAllowance CpuLimits::Read() const {
  CpuAllowance allowance;
  const std::string status = proc_->Text(absl::StrCat(pid_, "/status"));
  constexpr std::string_view kMask = "\nCpus_allowed:\t";
  if (const size_t at = status.find(kMask); at != std::string::npos) {
    const size_t begin = at + kMask.size();
    allowance.affinity_cpus = CountBits(std::string_view(status).substr(begin, status.find('\n', begin) - begin));
  }
  // "4:cpu,cpuacct:/path" of version 1, "0::/path" of version 2.
  const std::string groups = proc_->Text(absl::StrCat(pid_, "/cgroup"));
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].substr(0, 4) == "/../") continue;
    const bool unified = parts[1].empty();
    std::vector<std::string> roots;
    if (unified) {
      roots = {cgroup_root_, cgroup_root_ + "/unified"};
    } else {
      const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
      for (const std::string& controller : controllers) {
        if (controller == "cpu") roots = {absl::StrCat(cgroup_root_, "/", parts[1])};
      }
    }
    for (const std::string& root : roots) {
      for (std::string path = parts[2] == "/" ? "" : parts[2];; path.resize(path.rfind('/'))) {
        ReadGroup(root + path, unified, &allowance);
        if (path.empty() || path.rfind('/') == std::string::npos) break;
      }
    }
  }
  return allowance;
}

std::vector<v1::State> CpuLimits::Changes(HostNs now) {
  std::vector<v1::State> changes;
  if (now < next_read_) return changes;
  next_read_ = now + kReadAgainNs;
  const CpuAllowance allowance = Read();
  if (!read_before_) first_ = allowance;
  if (allowance.millicpus() != 0 && (!read_before_ || allowance.millicpus() != last_.millicpus())) {
    v1::State& state = changes.emplace_back();
    state.set_what(v1::State::CPUS_AVAILABLE);
    state.set_monotonic_ns(static_cast<uint64_t>(now));
    state.set_value(allowance.millicpus());
    state.set_text(allowance.quota_millicpus == allowance.millicpus() ? "quota" : "affinity");
  }
  if (read_before_ && allowance.throttled_times > last_.throttled_times) {
    v1::State& state = changes.emplace_back();
    state.set_what(v1::State::CPU_THROTTLED);
    state.set_monotonic_ns(static_cast<uint64_t>(now));
    state.set_value(allowance.throttled_ns - first_.throttled_ns);
    state.set_text(absl::StrCat(allowance.throttled_times - first_.throttled_times));
  }
  last_ = allowance;
  read_before_ = true;
  return changes;
}

}  // namespace stallscope
