// stallscoped: the collector as a program. Runs until SIGINT, SIGTERM or SIGHUP, then closes its capture and ends.
//
// Exit codes: 0 ended as asked, 2 usage, 3 bad input, 4 not available here (address taken, capture cannot be written).
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "collector/main/collector.h"
#include "collector/main/collector_json.h"

namespace stallscope {
namespace {

int ExitCodeOf(const absl::Status& status) { return absl::IsInvalidArgument(status) ? 3 : 4; }

void SayStarted(const Collector& collector, bool json) {
  if (json) {
    std::cout << StartedJson(collector) << std::endl;
    return;
  }
  std::cerr << "stallscoped: agents connect to " << collector.socket_path();
  if (!collector.http_address().empty()) std::cerr << "; live at http://" << collector.http_address() << "/";
  std::cerr << std::endl;
}

void SayEnded(const CollectorTotals& totals, bool json) {
  if (json) {
    std::cout << EndedJson(totals) << std::endl;
    return;
  }
  std::cerr << "stallscoped: " << totals.processes_seen << " processes, " << totals.events << " events, "
            << totals.socket_bytes << " bytes received";
  if (totals.capture_bytes > 0) std::cerr << ", " << totals.capture_bytes << " bytes in the capture";
  std::cerr << std::endl;
  for (const std::string& notice : totals.notices) std::cerr << "stallscoped: " << notice << std::endl;
}

int Run(int argc, char** argv) {
  CLI::App app("Which processes make their tokens wait, and for what? stallscoped collects it, live, for this user.");
  CollectorOptions options;
  options.http_address = "127.0.0.1:0";
  bool json = false;
  app.add_option("--listen,--socket", options.socket_path,
                 "unix socket that the agents connect to (default: the usual one)");
  app.add_option("--http", options.http_address, "address of the live page, port 0: any free one; empty: none")
      ->capture_default_str();
  app.add_option("--capture", options.capture_path, "write everything received to this .stallcap file");
  app.add_option("--vocab", options.analysis.vocabulary,
                 "the model's vocabulary, when copy sizes alone do not tell tokens");
  app.add_flag("--quiet", options.quiet, "errors only");
  app.add_flag("--json", json, "say where it listens, and at the end what came in, as JSON lines");
  app.footer("Example: stallscoped --http 127.0.0.1:9417 --capture run.stallcap");
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return std::string("stallscoped: ") + error.what() + ". The options: stallscoped --help\n";
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  // Blocked before the collector's thread is made: they wait for sigwait here.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal_number);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  auto collector = Collector::Start(options);
  if (!collector.ok()) {
    std::cerr << "stallscoped: " << collector.status().message() << std::endl;
    return ExitCodeOf(collector.status());
  }
  if (!options.quiet || json) SayStarted(**collector, json);

  absl::Status capture_status;
  while (true) {
    const timespec second = {1, 0};
    if (sigtimedwait(&ends, nullptr, &second) > 0) break;
    // Said once, when it happens: the rest goes on.
    if (!capture_status.ok()) continue;
    capture_status = (*collector)->Totals().capture_status;
    if (!capture_status.ok()) std::cerr << "stallscoped: " << capture_status.message() << std::endl;
  }
  (*collector)->Stop();
  const CollectorTotals totals = (*collector)->Totals();
  if (!options.quiet || json) SayEnded(totals, json);
  if (capture_status.ok() && !totals.capture_status.ok()) {
    std::cerr << "stallscoped: " << totals.capture_status.message() << std::endl;
  }
  return totals.capture_status.ok() ? 0 : 4;
}

}  // namespace
}  // namespace stallscope

int main(int argc, char** argv) { return stallscope::Run(argc, argv); }
