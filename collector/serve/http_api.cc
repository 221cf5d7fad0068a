#include "collector/serve/http_api.h"

#include <arpa/inet.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/serve/budget_json.h"
#include "collector/serve/live_page.h"

namespace stallscope::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kDefaultWindowNs = 10'000'000'000;
constexpr std::string_view kPlain = "text/plain; charset=utf-8";

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Answer Trouble(int status, const std::string& why) {
  Answer answer;
  answer.status = status;
  answer.body = Dump({{"error", why}});
  return answer;
}

bool IsOurName(std::string_view host) {
  if (host.empty()) return false;
  std::string name(host);
  if (name.front() == '[') {
    name = name.substr(1, name.find(']') - 1);
  } else {
    name = name.substr(0, name.rfind(':'));
  }
  if (name == "localhost") return true;
  in6_addr address;
  return inet_pton(AF_INET, name.c_str(), &address) == 1 || inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

// The value of a query parameter; nullopt when it is not there. No parameter of ours needs percent-decoding.
std::optional<std::string_view> Parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const size_t equals = part.find('=');
    if (part.substr(0, equals) != name) continue;
    return equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<int64_t> ParseWindow(std::string_view text) {
  if (text == "all") return 0;
  absl::Duration window;
  if (!absl::ParseDuration(std::string(text), &window) || window <= absl::ZeroDuration() ||
      window > absl::Hours(24 * 365)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the window \"", std::string(text), "\"; give 1s, 10s, 5m or all"));
  }
  if (window % absl::Seconds(1) != absl::ZeroDuration() || window > absl::Minutes(5)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window is a whole number of seconds up to 5m, or all; not \"", std::string(text), "\""));
  }
  return absl::ToInt64Nanoseconds(window);
}

std::string ProcessesToJson(const std::vector<ProcessStatus>& processes) {
  Json list = Json::array();
  for (const ProcessStatus& status : processes) {
    list.push_back({{"process", status.process},
                    {"pid", status.pid},
                    {"parent_pid", status.parent_pid},
                    {"comm", status.comm},
                    {"executable", status.executable},
                    {"agent_version", status.agent_version},
                    {"live", status.live},
                    {"connected", status.connected},
                    {"streaming", status.streaming},
                    {"simulated_gpu", status.simulated_gpu},
                    {"events", status.events},
                    {"lost_records", status.lost_records},
                    {"refused_frames", status.refused_frames},
                    {"salvaged_records", status.salvaged_records}});
  }
  return Dump({{"schema", "stallscope.processes/1"}, {"processes", std::move(list)}});
}

Answer AnswerRequest(std::string_view method, std::string_view target, std::string_view host, LiveSource* source) {
  if (!IsOurName(host)) return Trouble(403, "ask for this collector by its IP address or as localhost");
  if (method != "GET" && method != "HEAD") return Trouble(405, "only GET is answered here");
  const size_t question = target.find('?');
  const std::string_view path = target.substr(0, question);
  const std::string_view query = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  Answer answer;
  if (path == "/healthz") {
    answer.content_type = kPlain;
    answer.body = "ok\n";
  } else if (path == "/") {
    answer.content_type = "text/html; charset=utf-8";
    answer.body = kLivePage;
  } else if (path == "/api/v1/processes") {
    answer.body = ProcessesToJson(source->LiveProcesses());
  } else if (path == "/api/v1/budget" || path == "/api/v1/live") {
    answer.window_ns = kDefaultWindowNs;
    if (const auto text = Parameter(query, "window"); text.has_value()) {
      const absl::StatusOr<int64_t> window = ParseWindow(*text);
      if (!window.ok()) return Trouble(400, std::string(window.status().message()));
      answer.window_ns = *window;
    }
    answer.live = path == "/api/v1/live" && method == "GET";
    if (!answer.live) answer.body = BudgetReportToJson(source->LiveReport(answer.window_ns));
  } else {
    return Trouble(404, absl::StrCat("nothing here at ", std::string(path.substr(0, 200)),
                                     "; try / or /api/v1/budget?window=10s"));
  }
  return answer;
}

}  // namespace stallscope::serve
