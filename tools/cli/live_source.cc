#include "tools/cli/live_source.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/main/collector.h"
#include "tools/cli/http_get.h"
#include "tools/tui/budget_document.h"

namespace stallscope::cli {
namespace {

constexpr int kTimeoutMs = 3000;

}  // namespace

absl::StatusOr<std::string> FindHttpAddress(const std::string& http, const std::string& socket) {
  if (!http.empty()) return http;
  const std::string wanted = socket.empty() ? DefaultSocketPath() : socket;
  std::optional<CollectorAddress> found = FindCollectorAt(wanted);
  if (!found.has_value() && !socket.empty()) {
    return absl::UnavailableError(
        absl::StrCat("no collector listens at ", socket, ". Start one: stallscope collect --listen ", socket));
  }
  if (!found.has_value()) {
    const std::vector<CollectorAddress> collectors = FindCollectors();
    if (!collectors.empty()) found = collectors.front();
  }
  if (!found.has_value()) {
    return absl::UnavailableError(absl::StrCat("no collector of yours runs here (looked beside ", wanted,
                                               "). Start one: stallscope collect, or stallscope run -- COMMAND"));
  }
  if (found->http.empty()) {
    return absl::UnavailableError(absl::StrCat("the collector at ", found->socket, " (pid ", found->pid,
                                               ") has no HTTP address. Start it with --http 127.0.0.1:0."));
  }
  return found->http;
}

absl::StatusOr<std::string> FetchBudgetDocument(const std::string& http_address, int64_t window_ns) {
  const std::string window = window_ns > 0 ? absl::StrCat(window_ns / 1'000'000, "ms") : std::string("all");
  return HttpGet(http_address, absl::StrCat("/api/v1/budget?window=", window), kTimeoutMs);
}

absl::StatusOr<std::string> FetchProcessesDocument(const std::string& http_address) {
  return HttpGet(http_address, "/api/v1/processes", kTimeoutMs);
}

absl::StatusOr<BudgetReport> FetchBudget(const std::string& http_address, int64_t window_ns) {
  absl::StatusOr<std::string> document = FetchBudgetDocument(http_address, window_ns);
  if (!document.ok()) return document.status();
  return tui::ParseBudgetDocument(*document);
}

}  // namespace stallscope::cli
