#include "tools/tui/memory_document.h"

#include <nlohmann/json.hpp>
#include <string>

namespace stallscope::tui {
namespace {

using Json = nlohmann::json;

template <typename Value>
void Read(const Json& object, const char* name, Value* value) {
  const auto it = object.find(name);
  if (it == object.end()) return;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (it->is_string()) *value = it->template get<std::string>();
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (it->is_boolean()) *value = it->template get<bool>();
  } else if (it->is_number_integer()) {
    *value = it->template get<Value>();
  }
}

const Json& Array(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  const auto it = object.find(name);
  return it != object.end() && it->is_array() ? *it : kNone;
}
const Json& Object(const Json& object, const char* name) {
  static const Json kNone = Json::object();
  const auto it = object.find(name);
  return it != object.end() && it->is_object() ? *it : kNone;
}

void ReadBooks(const Json& json, MemoryReport* memory) {
  for (const Json& row : Array(json, "calls")) {
    if (!row.is_object()) continue;
    MemoryCallReport& call = memory->calls.emplace_back();
    Read(row, "name", &call.name);
    Read(row, "calls", &call.calls);
    Read(row, "failed", &call.failed);
    Read(row, "bytes", &call.bytes);
    Read(row, "total_ns", &call.total_ns);
    Read(row, "longest_ns", &call.longest_ns);
  }
  for (const Json& row : Array(json, "kinds")) {
    if (!row.is_object()) continue;
    MemoryKindReport& kind = memory->kinds.emplace_back();
    Read(row, "kind", &kind.kind);
    Read(row, "live_bytes", &kind.live_bytes);
    Read(row, "live_allocations", &kind.live_allocations);
    Read(row, "peak_bytes", &kind.peak_bytes);
    Read(row, "allocations", &kind.allocations);
    Read(row, "releases", &kind.releases);
    Read(row, "allocated_bytes", &kind.allocated_bytes);
    Read(row, "released_bytes", &kind.released_bytes);
  }
  for (const Json& row : Array(json, "pools")) {
    if (!row.is_object()) continue;
    MemoryPoolReport& pool = memory->pools.emplace_back();
    Read(row, "address", &pool.address);
    Read(row, "device", &pool.device);
    Read(row, "reserved_bytes", &pool.reserved_bytes);
    Read(row, "used_bytes", &pool.used_bytes);
    Read(row, "peak_reserved_bytes", &pool.peak_reserved_bytes);
    Read(row, "trims", &pool.trims);
  }
  const Json& unified = Object(json, "unified");
  Read(unified, "to_device_bytes", &memory->unified.to_device_bytes);
  Read(unified, "to_host_bytes", &memory->unified.to_host_bytes);
  Read(unified, "between_devices_bytes", &memory->unified.between_devices_bytes);
  Read(unified, "remote_mapped_bytes", &memory->unified.remote_mapped_bytes);
  Read(unified, "cpu_faults", &memory->unified.cpu_faults);
  Read(unified, "gpu_faults", &memory->unified.gpu_faults);
  Read(unified, "gpu_fault_ns", &memory->unified.gpu_fault_ns);
  Read(unified, "thrashing", &memory->unified.thrashing);
  Read(unified, "throttled", &memory->unified.throttled);
  Read(unified, "throttled_ns", &memory->unified.throttled_ns);
  Read(json, "came_and_went_bytes", &memory->came_and_went_bytes);
  Read(json, "unmatched_releases", &memory->unmatched_releases);
  Read(json, "untracked", &memory->untracked);
  Read(json, "refused", &memory->refused);
  const auto per_s = json.find("came_and_went_bytes_per_s");
  if (per_s != json.end() && per_s->is_number() && per_s->get<double>() > 0) {
    memory->seconds = static_cast<double>(memory->came_and_went_bytes) / per_s->get<double>();
  }
}

}  // namespace

void ReadMemory(const Json& process_json, ProcessReport* process) {
  ReadBooks(Object(process_json, "memory"), &process->memory);
  for (const Json& row : Array(process_json, "code_loads")) {
    if (!row.is_object()) continue;
    CodeLoadReport& load = process->code_loads.emplace_back();
    Read(row, "what", &load.what);
    Read(row, "count", &load.count);
    Read(row, "bytes", &load.bytes);
    Read(row, "total_ns", &load.total_ns);
    Read(row, "longest_ns", &load.longest_ns);
  }
  for (const Json& row : Array(process_json, "contexts")) {
    if (!row.is_object()) continue;
    ContextReport& context = process->contexts.emplace_back();
    Read(row, "id", &context.id);
    Read(row, "device", &context.device);
    Read(row, "green", &context.green);
    Read(row, "multiprocessors", &context.multiprocessors);
    Read(row, "mps", &context.mps);
  }
  for (const Json& row : Array(process_json, "names")) {
    if (!row.is_object()) continue;
    NamedReport& named = process->names.emplace_back();
    Read(row, "kind", &named.kind);
    Read(row, "value", &named.value);
    Read(row, "name", &named.name);
  }
}

}  // namespace stallscope::tui
