#include "tools/tui/budget_document.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tools/tui/memory_document.h"

namespace stallscope::tui {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "stallscope.budget/1";

// Reads a member if it is there with the right type; a wrong type reads as absent. No exception leaves.
void Read(const Json& object, const char* name, std::string* value) {
  if (auto it = object.find(name); it != object.end() && it->is_string()) *value = it->get<std::string>();
}
void Read(const Json& object, const char* name, bool* value) {
  if (auto it = object.find(name); it != object.end() && it->is_boolean()) *value = it->get<bool>();
}
void Read(const Json& object, const char* name, double* value) {
  if (auto it = object.find(name); it != object.end() && it->is_number()) *value = it->get<double>();
}
template <typename Integer>
void Read(const Json& object, const char* name, Integer* value) {
  if (auto it = object.find(name); it != object.end() && it->is_number_integer()) *value = it->get<Integer>();
}

const Json& Member(const Json& object, const char* name) {
  static const Json nothing = Json::object();
  if (auto it = object.find(name); it != object.end()) return *it;
  return nothing;
}

int64_t FromMicroseconds(const Json& object, const char* name) {
  double us = 0;
  Read(object, name, &us);
  return static_cast<int64_t>(us * 1000 + 0.5);
}

absl::Status ReadLines(const Json& lines, ProcessReport* process) {
  if (!lines.is_object()) return absl::InvalidArgumentError("its lines are not an object");
  for (const auto& [name, line] : lines.items()) {
    int number = 0;
    while (number < kLineCount && kLines[number].name != name) ++number;
    if (number == kLineCount) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has a line this version does not know: ", name, ". Use one version of both"));
    }
    Read(line, "ns", &process->lines[number].ns);
    Read(line, "hidden_ns", &process->lines[number].hidden_ns);
    Read(line, "note", &process->lines[number].note);
  }
  return absl::OkStatus();
}

void ReadGovernor(const Json& json, GovernorReport* governor) {
  governor->known = json.contains("asked_level");
  Read(json, "asked_level", &governor->asked_level);
  Read(json, "less_than_asked", &governor->less_than_asked);
  Read(json, "why", &governor->why);
  Read(json, "cost_share", &governor->cost_share);
  Read(json, "limit_share", &governor->limit_share);
  Read(json, "node_window", &governor->node_window);
  Read(json, "callback_ns", &governor->callback_ns);
}

void ReadBatch(const Json& json, BatchReport* batch) {
  Read(json, "source", &batch->source);
  Read(json, "batches", &batch->batches);
  Read(json, "decoding_requests", &batch->decoding_requests);
  Read(json, "prefilling_requests", &batch->prefilling_requests);
  Read(json, "decoding_tokens", &batch->decoding_tokens);
  Read(json, "prefilling_tokens", &batch->prefilling_tokens);
}

absl::StatusOr<ProcessReport> ReadProcess(const Json& json) {
  ProcessReport process;
  Read(json, "pid", &process.pid);
  ReadMemory(json, &process);
  Read(json, "comm", &process.process_name);
  Read(json, "gpu", &process.gpu);
  Read(json, "simulated_gpu", &process.simulated_gpu);
  Read(json, "steps", &process.steps);
  Read(json, "tokens", &process.tokens);
  Read(json, "tokens_source", &process.tokens_source);
  Read(json, "wall_ns", &process.wall_ns);
  const Json& segmentation = Member(json, "segmentation");
  Read(segmentation, "method", &process.segmentation_method);
  Read(segmentation, "confidence", &process.segmentation_confidence);
  Read(segmentation, "why", &process.segmentation_why);
  if (absl::Status status = ReadLines(Member(json, "lines"), &process); !status.ok()) return status;
  const Json& itl = Member(json, "itl_us");
  process.itl_p50_ns = FromMicroseconds(itl, "p50");
  process.itl_p90_ns = FromMicroseconds(itl, "p90");
  process.itl_p99_ns = FromMicroseconds(itl, "p99");
  process.itl_max_ns = FromMicroseconds(itl, "max");
  for (const Json& json_sync : Member(json, "syncs")) {
    SyncReport sync;
    Read(json_sync, "name", &sync.name);
    Read(json_sync, "calls", &sync.calls);
    Read(json_sync, "total_ns", &sync.total_ns);
    Read(json_sync, "over_wait_ns", &sync.over_wait_ns);
    Read(json_sync, "within_clock_error_ns", &sync.within_clock_error_ns);
    Read(json_sync, "idle_inside_ns", &sync.idle_inside_ns);
    Read(json_sync, "unneeded_ns", &sync.unneeded_ns);
    process.syncs.push_back(std::move(sync));
  }
  const Json& health = Member(json, "health");
  Read(health, "events", &process.health.events);
  Read(health, "dropped", &process.health.dropped);
  Read(health, "late", &process.health.late);
  Read(health, "clamped", &process.health.clamped);
  Read(health, "unmatched", &process.health.unmatched);
  for (const auto& [name, count] : Member(health, "causes").items()) {
    if (count.is_number_unsigned()) process.health_causes.push_back({name, "", count.get<uint64_t>()});
  }
  const Json& agent = Member(json, "agent");
  Read(agent, "level", &process.agent_level);
  Read(agent, "cost_share", &process.agent_cost_share);
  ReadGovernor(Member(agent, "governor"), &process.governor);
  Read(Member(json, "clock"), "gpu_uncertainty_ns", &process.gpu_clock_uncertainty_ns);
  ReadBatch(Member(json, "batch"), &process.batch);
  for (const Json& json_blocked : Member(json, "blocked")) {
    BlockedThread blocked;
    Read(json_blocked, "tid", &blocked.tid);
    Read(json_blocked, "thread_name", &blocked.thread_name);
    Read(json_blocked, "call", &blocked.call);
    Read(json_blocked, "object", &blocked.object);
    Read(json_blocked, "for_ns", &blocked.for_ns);
    Read(json_blocked, "where", &blocked.where);
    process.blocked.push_back(std::move(blocked));
  }
  for (const Json& notice : Member(json, "notices")) {
    if (notice.is_string()) process.notices.push_back(notice.get<std::string>());
  }
  return process;
}

}  // namespace

absl::StatusOr<BudgetReport> ParseBudgetDocument(const std::string& json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  std::string schema;
  if (document.is_object()) Read(document, "schema", &schema);
  if (schema != kSchema) {
    return absl::InvalidArgumentError(absl::StrCat("the answer is not a ", kSchema, " document",
                                                   schema.empty() ? std::string() : absl::StrCat(" but ", schema),
                                                   ". Does something else listen at this address?"));
  }
  BudgetReport report;
  const Json& window = Member(document, "window");
  Read(window, "begin_ns", &report.begin);
  Read(window, "end_ns", &report.end);
  bool simulated_gpu = false;
  Read(document, "simulated_gpu", &simulated_gpu);
  for (const Json& json_process : Member(document, "processes")) {
    absl::StatusOr<ProcessReport> process = ReadProcess(json_process);
    if (!process.ok()) {
      return absl::Status(process.status().code(),
                          absl::StrCat("cannot read the budget document: ", process.status().message(), "."));
    }
    // One document says it once; a process without a GPU of its own is not concerned.
    if (simulated_gpu && !process->gpu.empty() && !json_process.contains("simulated_gpu"))
      process->simulated_gpu = true;
    report.processes.push_back(*std::move(process));
  }
  return report;
}

}  // namespace stallscope::tui
