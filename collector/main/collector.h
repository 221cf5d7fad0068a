// The collector as an object: the same for stallscoped, `stallscope collect` and the one that `stallscope run` starts
// itself.
//
// Threads: Start spawns one I/O and analysis thread (Boost.Asio); every public function may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/budget/process_analysis.h"
#include "collector/budget/report.h"

namespace stallscope {

struct CollectorOptions {
  std::string socket_path;   // unix socket the agents connect to; its directory is made with mode 0700
  std::string http_address;  // "127.0.0.1:9417", port 0: any free one; empty: no HTTP
  std::string capture_path;  // empty: none
  AnalysisOptions analysis;
  bool quiet = false;
};

struct CollectorTotals {
  uint64_t processes_seen = 0, processes_live = 0, events = 0, socket_bytes = 0, capture_bytes = 0;
  absl::Status capture_status;  // not OK: the capture stopped (disk full), the rest goes on
  std::vector<std::string> notices;
};

class Collector {
 public:
  virtual ~Collector() = default;  // stops

  // AlreadyExists: another collector listens there (named with its pid). Errors end in what to try next.
  static absl::StatusOr<std::unique_ptr<Collector>> Start(const CollectorOptions& options);

  virtual std::string socket_path() const = 0;
  virtual std::string http_address() const = 0;  // with the real port

  // window_ns <= 0: since start.
  virtual BudgetReport Report(int64_t window_ns) = 0;
  virtual CollectorTotals Totals() = 0;

  // Drains the sockets and the memory of processes that are gone, closes steps, closes the capture. Blocks until done.
  virtual void Stop() = 0;
};

// Where agents and tools find the collector of this user when nothing is said: $STALLSCOPE_SOCKET, else
// $XDG_RUNTIME_DIR/stallscope/collector.sock, else /run/stallscope/collector.sock for root, else
// /tmp/stallscope-<uid>/collector.sock.
std::string DefaultSocketPath();

// Beside the socket lies <socket>.json: {"pid","socket","http","started_ns"}; `stallscope top` finds the HTTP address
// there.
struct CollectorAddress {
  uint32_t pid = 0;
  std::string socket, http;
};
// Every live collector of this user found in the socket directory, newest first; stale files are ignored.
std::vector<CollectorAddress> FindCollectors();

// The one that listens at this socket, in whatever folder; nothing when none does. Its `socket` is the name under which
// it was started, which may be another name of the same file.
std::optional<CollectorAddress> FindCollectorAt(const std::string& socket_path);

}  // namespace stallscope
