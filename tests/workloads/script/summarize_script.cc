#include "tests/workloads/script/summarize_script.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace workloads::script {
namespace {

constexpr uint64_t kGapNs = 20'000;
using Span = std::pair<uint64_t, uint64_t>;

nlohmann::json BusyTime(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end());
  uint64_t busy_ns = 0, gaps = 0, long_gaps = 0;
  Span busy = spans.front();
  for (const Span& span : spans) {
    if (span.first > busy.second) {
      ++gaps;
      if (span.first - busy.second > kGapNs) ++long_gaps;
      busy_ns += busy.second - busy.first;
      busy = span;
    }
    busy.second = std::max(busy.second, span.second);
  }
  busy_ns += busy.second - busy.first;
  return {{"operations", spans.size()},
          {"first_ns", spans.front().first},
          {"last_ns", busy.second},
          {"busy_ns", busy_ns},
          {"gaps", gaps},
          {"gaps_over_20us", long_gaps}};
}

class Summary {
 public:
  explicit Summary(const Script& script) : script_(script) {}

  nlohmann::json Make() {
    for (const Thread& thread : script_.threads) AddThread(thread);
    nlohmann::json result = counts_;
    result["threads"] = script_.threads.size();
    nlohmann::json& names = result["names"] = nlohmann::json::object();
    for (const auto& [name, uses] : names_) names[script_.names[name]] = {uses.first, uses.second};
    nlohmann::json& devices = result["devices"] = nlohmann::json::object();
    for (const auto& [device, spans] : spans_) devices[std::to_string(device)] = BusyTime(spans);
    return result;
  }

 private:
  void AddThread(const Thread& thread) {
    std::vector<uint64_t> times{1};
    for (const Statement& s : thread.statements) {
      const uint64_t now = times.back();
      counts_["statements"] += now;
      const uint32_t device = script_.streams[static_cast<size_t>(s.stream)].device;
      switch (s.action) {
        case Action::kRepeat:
          times.push_back(now * s.count);
          break;
        case Action::kEndRepeat:
          times.pop_back();
          break;
        case Action::kDevice:
          AddWork(s.work, device, 0, s.work.at_ns != kNoTime, now);
          break;
        case Action::kGraph:
          counts_["graph_launches"] += now;
          AddGraph(script_.graphs[static_cast<size_t>(s.object)], device, s.work.at_ns, now);
          break;
        case Action::kSyncDevice:
        case Action::kSyncStream:
        case Action::kSyncEvent:
        case Action::kTake:
          counts_["waits"] += now;
          break;
        case Action::kStep:
          counts_["steps"] += now;
          break;
        default:
          break;
      }
    }
  }

  void AddGraph(const Graph& graph, uint32_t device, uint64_t at_ns, uint64_t times) {
    std::map<uint32_t, uint64_t> branch_end_ns;
    for (const GraphNode& node : graph.nodes) {
      DeviceWork work = node.work;
      uint64_t& end_ns = branch_end_ns[node.branch];
      if (work.at_ns == kNoTime) work.at_ns = end_ns;
      end_ns = work.at_ns + work.duration_ns;
      AddWork(work, device, at_ns, at_ns != kNoTime, times);
    }
  }

  void AddWork(const DeviceWork& work, uint32_t device, uint64_t base_ns, bool placed, uint64_t times) {
    static constexpr const char* kKinds[] = {"kernels", "copies", "fills", "wholes"};
    counts_[kKinds[static_cast<int>(work.kind)]] += times;
    if (work.kind == DeviceWork::Kind::kKernel) {
      auto& [count, total_ns] = names_[work.name];
      count += times;
      total_ns += times * work.duration_ns;
    }
    if (placed) spans_[device].emplace_back(base_ns + work.at_ns, base_ns + work.at_ns + work.duration_ns);
  }

  const Script& script_;
  std::map<std::string, uint64_t> counts_{{"statements", 0},     {"kernels", 0}, {"copies", 0}, {"fills", 0},
                                          {"graph_launches", 0}, {"wholes", 0},  {"waits", 0},  {"steps", 0}};
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> names_;
  std::map<uint32_t, std::vector<Span>> spans_;
};

}  // namespace

nlohmann::json SummarizeScript(const Script& script) { return Summary(script).Make(); }

}  // namespace workloads::script
