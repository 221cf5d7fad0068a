// stallscope collect: the collector in the foreground (stallscoped is the same).
#include <signal.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "collector/main/collector.h"
#include "collector/main/collector_json.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/http_option.h"
#include "tools/cli/installation.h"
#include "tools/tui/number_text.h"

namespace stallscope::cli {
namespace {

void SayHowToRecord(const Collector& collector) {
  const std::string socket = collector.socket_path();
  std::cerr << "stallscope: collecting at " << socket;
  if (!collector.http_address().empty()) std::cerr << ", http://" << collector.http_address();
  std::cerr << "\nstallscope: record a program: stallscope run --collector " << socket << " -- COMMAND";
  if (const absl::StatusOr<std::string> agent = FindAgent(ProgramFolder()); agent.ok()) {
    std::cerr << ", or LD_PRELOAD=" << *agent << (socket == DefaultSocketPath() ? "" : " STALLSCOPE_SOCKET=" + socket)
              << " COMMAND";
  }
  std::cerr << "\n";
}

int Collect(CollectorOptions options, bool json) {
  if (options.socket_path.empty()) options.socket_path = DefaultSocketPath();
  // Before the collector's thread is made, so that it inherits the mask and the signals wait for us.
  sigset_t ends;
  sigemptyset(&ends);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  absl::StatusOr<std::unique_ptr<Collector>> collector = Collector::Start(options);
  if (!collector.ok()) return Fail(collector.status());
  if (json) {
    std::cout << StartedJson(**collector) << std::endl;
  } else if (!options.quiet) {
    SayHowToRecord(**collector);
  }

  bool capture_failed = false;
  for (;;) {
    const timespec timeout = {1, 0};
    if (sigtimedwait(&ends, nullptr, &timeout) > 0) break;
    const CollectorTotals totals = (*collector)->Totals();
    if (!totals.capture_status.ok() && !capture_failed) {
      capture_failed = true;
      Warn(std::string(totals.capture_status.message()));
    }
  }
  (*collector)->Stop();
  const CollectorTotals totals = (*collector)->Totals();
  if (json) {
    std::cout << EndedJson(totals) << std::endl;
  } else if (!options.quiet) {
    std::cerr << "stallscope: " << totals.processes_seen << " processes, "
              << tui::Grouped(static_cast<int64_t>(totals.events)) << " events, "
              << tui::Grouped(static_cast<int64_t>(totals.socket_bytes)) << " bytes received";
    if (!options.capture_path.empty()) {
      std::cerr << ", " << tui::Grouped(static_cast<int64_t>(totals.capture_bytes)) << " bytes in "
                << options.capture_path;
    }
    std::cerr << "\n";
    for (const std::string& notice : totals.notices) Warn(notice);
  }
  if (!totals.capture_status.ok() && !capture_failed) Warn(std::string(totals.capture_status.message()));
  return totals.capture_status.ok() ? kDone : kNotAvailable;
}

}  // namespace

void AddCollectCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<CollectorOptions>();
  options->http_address = "127.0.0.1:0";
  CLI::App* command = program.add_subcommand(
      "collect", "How do I watch processes that come and go, with one collector for all of them?");
  command->add_option("--listen", options->socket_path, "unix socket for the agents (default: the one they look for)")
      ->type_name("SOCKET");
  command->add_option("--http", options->http_address, "address of the live view, port 0: any free one")
      ->check(HttpAddressProblem)
      ->type_name("IP:PORT")
      ->capture_default_str();
  command->add_option("--capture", options->capture_path, "write everything received into this file (.stallcap)")
      ->type_name("FILE");
  command
      ->add_option("--vocab", options->analysis.vocabulary,
                   "size of the model's vocabulary (default: learn it from copy sizes)")
      ->type_name("N");
  command->add_flag("--quiet", options->quiet, "errors only");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "where it listens, and at the end what came in, as JSON, an object a line");
  command->footer(
      "Runs until Ctrl-C or SIGTERM; the capture is then complete. A capture that cannot be written any more (full "
      "disk)\n"
      "stops and is valid up to there, everything else goes on, and the exit code is 4.\n\n"
      "Example:\n  stallscope collect --http 127.0.0.1:9417 --capture server.stallcap");
  command->callback([options, json, exit_code] { *exit_code = Collect(*options, *json); });
}

}  // namespace stallscope::cli
