#include "collector/serve/budget_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stallscope {
namespace {

// Fields stay in the order in which the schema names them: people read this too.
using Json = nlohmann::ordered_json;

constexpr double kNsPerUs = 1000;

Json PerUs(int64_t ns, uint64_t count) {
  if (count == 0) return nullptr;
  return static_cast<double>(ns) / kNsPerUs / static_cast<double>(count);
}

Json Lines(const ProcessReport& process) {
  Json lines = Json::object();
  for (int i = 0; i < kLineCount; ++i) {
    const LineReport& line = process.lines[i];
    if (line.ns == 0 && line.hidden_ns == 0) continue;
    Json json = {{"ns", line.ns},
                 {"hidden_ns", line.hidden_ns},
                 {"per_step_us", PerUs(line.ns, process.steps)},
                 {"per_token_us", PerUs(line.ns, process.tokens)},
                 {"share", process.wall_ns > 0 ? Json(static_cast<double>(line.ns) / process.wall_ns) : Json(nullptr)}};
    if (!line.note.empty()) json["note"] = line.note;
    lines[std::string(kLines[i].name)] = std::move(json);
  }
  return lines;
}

Json Itl(const ProcessReport& process) {
  if (process.steps == 0) return {{"p50", nullptr}, {"p90", nullptr}, {"p99", nullptr}, {"max", nullptr}};
  return {{"p50", process.itl_p50_ns / kNsPerUs},
          {"p90", process.itl_p90_ns / kNsPerUs},
          {"p99", process.itl_p99_ns / kNsPerUs},
          {"max", process.itl_max_ns / kNsPerUs}};
}

Json Memory(const MemoryReport& memory) {
  Json calls = Json::array();
  for (const MemoryCallReport& call : memory.calls) {
    calls.push_back({{"name", call.name},
                     {"calls", call.calls},
                     {"failed", call.failed},
                     {"bytes", call.bytes},
                     {"total_ns", call.total_ns},
                     {"longest_ns", call.longest_ns}});
  }
  Json kinds = Json::array();
  for (const MemoryKindReport& kind : memory.kinds) {
    kinds.push_back({{"kind", kind.kind},
                     {"live_bytes", kind.live_bytes},
                     {"live_allocations", kind.live_allocations},
                     {"peak_bytes", kind.peak_bytes},
                     {"allocations", kind.allocations},
                     {"releases", kind.releases},
                     {"allocated_bytes", kind.allocated_bytes},
                     {"released_bytes", kind.released_bytes}});
  }
  Json pools = Json::array();
  for (const MemoryPoolReport& pool : memory.pools) {
    pools.push_back({{"address", pool.address},
                     {"device", pool.device},
                     {"reserved_bytes", pool.reserved_bytes},
                     {"used_bytes", pool.used_bytes},
                     {"peak_reserved_bytes", pool.peak_reserved_bytes},
                     {"trims", pool.trims}});
  }
  const UnifiedMemoryReport& unified = memory.unified;
  const Json came_and_went_per_s =
      memory.seconds > 0 ? Json(static_cast<double>(memory.came_and_went_bytes) / memory.seconds) : Json(nullptr);
  return {{"calls", std::move(calls)},
          {"kinds", std::move(kinds)},
          {"came_and_went_bytes", memory.came_and_went_bytes},
          {"came_and_went_bytes_per_s", came_and_went_per_s},
          {"pools", std::move(pools)},
          {"unified",
           {{"to_device_bytes", unified.to_device_bytes},
            {"to_host_bytes", unified.to_host_bytes},
            {"between_devices_bytes", unified.between_devices_bytes},
            {"remote_mapped_bytes", unified.remote_mapped_bytes},
            {"cpu_faults", unified.cpu_faults},
            {"gpu_faults", unified.gpu_faults},
            {"gpu_fault_ns", unified.gpu_fault_ns},
            {"thrashing", unified.thrashing},
            {"throttled", unified.throttled},
            {"throttled_ns", unified.throttled_ns}}},
          {"unmatched_releases", memory.unmatched_releases},
          {"untracked", memory.untracked},
          {"refused", memory.refused}};
}

Json CodeLoads(const ProcessReport& process) {
  Json loads = Json::array();
  for (const CodeLoadReport& load : process.code_loads) {
    loads.push_back({{"what", load.what},
                     {"count", load.count},
                     {"bytes", load.bytes},
                     {"total_ns", load.total_ns},
                     {"longest_ns", load.longest_ns}});
  }
  return loads;
}

Json Contexts(const ProcessReport& process) {
  Json contexts = Json::array();
  for (const ContextReport& context : process.contexts) {
    contexts.push_back({{"id", context.id},
                        {"device", context.device},
                        {"green", context.green},
                        {"multiprocessors", context.multiprocessors},
                        {"mps", context.mps}});
  }
  return contexts;
}

Json Names(const ProcessReport& process) {
  Json names = Json::array();
  for (const NamedReport& named : process.names) {
    names.push_back({{"kind", named.kind}, {"value", named.value}, {"name", named.name}});
  }
  return names;
}

Json Causes(const ProcessReport& process) {
  Json causes = Json::object();
  for (const HealthCause& cause : process.health_causes) causes[cause.name] = cause.count;
  return causes;
}

Json Governor(const GovernorReport& governor) {
  if (!governor.known) return nullptr;
  return {{"asked_level", governor.asked_level},
          {"less_than_asked", governor.less_than_asked},
          {"why", governor.why},
          {"cost_share", governor.cost_share},
          {"limit_share", governor.limit_share},
          {"node_window", governor.node_window},
          {"callback_ns", governor.callback_ns == 0 ? Json(nullptr) : Json(governor.callback_ns)}};
}

Json Batch(const BatchReport& batch) {
  if (batch.batches == 0) return nullptr;
  return {{"source", batch.source},
          {"batches", batch.batches},
          {"decoding_requests", batch.decoding_requests},
          {"prefilling_requests", batch.prefilling_requests},
          {"decoding_tokens", batch.decoding_tokens},
          {"prefilling_tokens", batch.prefilling_tokens}};
}

Json Process(const ProcessReport& process) {
  Json syncs = Json::array();
  for (const SyncReport& sync : process.syncs) {
    syncs.push_back({{"name", sync.name},
                     {"calls", sync.calls},
                     {"total_ns", sync.total_ns},
                     {"over_wait_ns", sync.over_wait_ns},
                     {"within_clock_error_ns", sync.within_clock_error_ns},
                     {"idle_inside_ns", sync.idle_inside_ns},
                     {"unneeded_ns", sync.unneeded_ns}});
  }
  Json blocked = Json::array();
  for (const BlockedThread& thread : process.blocked) {
    blocked.push_back({{"tid", thread.tid},
                       {"thread_name", thread.thread_name},
                       {"call", thread.call},
                       {"object", thread.object},
                       {"for_ns", thread.for_ns},
                       {"where", thread.where}});
  }
  return {{"pid", process.pid},
          {"comm", process.process_name},
          {"gpu", process.gpu},
          {"simulated_gpu", process.simulated_gpu},
          {"steps", process.steps},
          {"tokens", process.tokens},
          {"tokens_source", process.tokens_source},
          {"segmentation",
           {{"method", process.segmentation_method},
            {"confidence", process.segmentation_confidence},
            {"why", process.segmentation_why}}},
          {"wall_ns", process.wall_ns},
          {"lines", Lines(process)},
          {"itl_us", Itl(process)},
          {"syncs", std::move(syncs)},
          {"health",
           {{"events", process.health.events},
            {"dropped", process.health.dropped},
            {"late", process.health.late},
            {"clamped", process.health.clamped},
            {"unmatched", process.health.unmatched},
            {"causes", Causes(process)}}},
          {"agent",
           {{"level", process.agent_level},
            {"cost_share", process.agent_cost_share},
            {"governor", Governor(process.governor)}}},
          {"clock",
           {{"gpu_uncertainty_ns",
             process.gpu_clock_uncertainty_ns < 0 ? Json(nullptr) : Json(process.gpu_clock_uncertainty_ns)}}},
          {"batch", Batch(process.batch)},
          {"blocked", std::move(blocked)},
          {"memory", Memory(process.memory)},
          {"code_loads", CodeLoads(process)},
          {"contexts", Contexts(process)},
          {"names", Names(process)},
          {"notices", process.notices}};
}

}  // namespace

std::string BudgetReportToJson(const BudgetReport& report, int indent) {
  Json processes = Json::array();
  for (const ProcessReport& process : report.processes) processes.push_back(Process(process));
  const bool simulated = std::any_of(report.processes.begin(), report.processes.end(),
                                     [](const ProcessReport& process) { return process.simulated_gpu; });
  const Json document = {{"schema", "stallscope.budget/1"},
                         {"simulated_gpu", simulated},
                         {"window", {{"begin_ns", report.begin}, {"end_ns", report.end}}},
                         {"processes", std::move(processes)}};
  return document.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace stallscope
