#include "collector/main/collector_json.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace stallscope {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string StartedJson(const Collector& collector) {
  return Dump({{"pid", getpid()}, {"socket", collector.socket_path()}, {"http", collector.http_address()}});
}

std::string EndedJson(const CollectorTotals& totals) {
  return Dump({{"processes", totals.processes_seen},
               {"events", totals.events},
               {"socket_bytes", totals.socket_bytes},
               {"capture_bytes", totals.capture_bytes},
               {"notices", totals.notices}});
}

}  // namespace stallscope
