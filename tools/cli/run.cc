// stallscope run: record a command, say at its end where the time went.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "collector/main/collector.h"
#include "collector/serve/budget_json.h"
#include "tools/cli/child_process.h"
#include "tools/cli/collector_socket.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/http_option.h"
#include "tools/cli/installation.h"
#include "tools/cli/level_option.h"
#include "tools/cli/live_display.h"
#include "tools/cli/live_source.h"
#include "tools/cli/private_file.h"
#include "tools/cli/process_family.h"
#include "tools/cli/run_preparation.h"
#include "tools/cli/run_summary.h"
#include "tools/tui/terminal.h"

namespace stallscope::cli {
namespace {

constexpr int kTickMs = 100;
constexpr int kEndTries = 30;          // ticks until the report of a collector that is not ours is taken as it is
constexpr int kTicksBetweenViews = 4;  // a view every 400 ms: more than twice a second

struct RunOptions {
  std::vector<std::string> command;
  std::string level = "budget", gpu = "real", capture, collector, http = "127.0.0.1:0", command_output;
  uint32_t vocabulary = 0;
  bool live = false, json = false, quiet = false;
};

size_t SummaryWidth() {
  winsize window{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col >= 60) return window.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int width = columns != nullptr ? std::atoi(columns) : 0;
  return width >= 60 ? static_cast<size_t>(width) : 100;
}

// The usage line of `run`: the option parser knows nothing of the command.
class RunHelp : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: stallscope run [OPTIONS] -- COMMAND [ARGUMENTS]\n";
  }
};

class RecordedRun {
 public:
  explicit RecordedRun(const RunOptions& options) : options_(options) {}

  int Run() {
    absl::StatusOr<ChildCommand> command =
        PrepareCommand(options_.command, {options_.level, options_.gpu == "simulated", ProgramFolder()});
    if (!command.ok()) {
      const int code = Fail(command.status());
      return absl::IsNotFound(command.status()) ? kUsage : code;
    }
    command->output_path = options_.command_output;
    ChildProcess child;  // before the collector's thread: it blocks signals
    if (options_.collector.empty()) {
      if (int code = StartCollector(); code != kDone) return code;
      socket_ = collector_->socket_path();
    } else {
      socket_ = options_.collector;
      if (!SomebodyListens(socket_)) {
        Warn(access(socket_.c_str(), W_OK) != 0 && errno == EACCES
                 ? absl::StrCat(
                       "the collector at ", socket_,
                       " is another user's: the program runs on, unrecorded. Start your own: stallscope collect")
                 : absl::StrCat("no collector listens at ", socket_,
                                ": the program runs on and is recorded once one does. Start one: stallscope collect "
                                "--listen ",
                                socket_));
      }
    }
    command->environment.emplace_back("STALLSCOPE_SOCKET", socket_);
    SayWhatIsOn();
    if (absl::Status opened = OpenLiveView(&*command); !opened.ok()) return Fail(opened);
    if (absl::Status started = child.Start(*command); !started.ok()) {
      display_.reset();
      return Fail(started);
    }
    pid_ = static_cast<uint32_t>(child.pid());
    const int exit_code = child.Wait(kTickMs, [this] { Tick(); });
    display_.reset();  // gives the terminal back before anything is printed
    Finish();
    return exit_code;
  }

 private:
  int StartCollector() {
    CollectorOptions collector_options;
    RemoveLeftSockets(DefaultSocketPath());
    collector_options.socket_path = OwnSocketPath(DefaultSocketPath());
    collector_options.http_address = options_.http;
    collector_options.capture_path = options_.capture;
    collector_options.analysis.vocabulary = options_.vocabulary;
    collector_options.quiet = true;
    absl::StatusOr<std::unique_ptr<Collector>> collector = Collector::Start(collector_options);
    if (!collector.ok()) return Fail(collector.status());
    collector_ = *std::move(collector);
    return kDone;
  }

  void SayWhatIsOn() const {
    if (options_.quiet || options_.json) return;
    std::string text = "recording";
    if (options_.gpu == "simulated") text += " on the simulated GPU";
    if (collector_ != nullptr && !collector_->http_address().empty()) {
      absl::StrAppend(&text, "; live: stallscope top, or http://", collector_->http_address(), "/api/v1/budget");
    }
    Warn(text);
  }

  absl::Status OpenLiveView(ChildCommand* child) {
    if (!options_.live) return absl::OkStatus();
    LiveDisplay::Options display_options;
    display_options.source = "collector at " + socket_;
    display_options.lines_to = stderr;
    display_ = std::make_unique<LiveDisplay>(display_options);
    if (!display_->on_terminal() || !child->output_path.empty()) return absl::OkStatus();
    // The page and the command's own output cannot share a terminal.
    absl::StatusOr<std::string> file = MakePrivateFile("stallscope-run");
    if (!file.ok()) {
      display_.reset();
      return file.status();
    }
    hidden_output_ = *file;
    child->output_path = hidden_output_;
    return absl::OkStatus();
  }

  void Tick() {
    if (collector_ != nullptr && !capture_failed_) {
      const CollectorTotals totals = collector_->Totals();
      if (!totals.capture_status.ok()) {
        capture_failed_ = true;
        if (display_ == nullptr || !display_->on_terminal()) Warn(std::string(totals.capture_status.message()));
      }
    }
    if (collector_ == nullptr && ++ticks_unwatched_ % 10 == 0) WatchCollector();
    if (display_ == nullptr) return;
    display_->HandleKeys(0);
    if (++ticks_ % kTicksBetweenViews != 0) return;
    if (absl::StatusOr<BudgetReport> report = CurrentReport(display_->window_ns()); report.ok())
      display_->Show(*report);
  }

  // Says once that the collector went away and once that one is back.
  void WatchCollector() {
    const bool listens = SomebodyListens(socket_);
    if (listens == listened_) return;
    listened_ = listens;
    if (options_.quiet) return;
    Warn(listens
             ? absl::StrCat("a collector listens at ", socket_, ".")
             : absl::StrCat(
                   "the collector at ", socket_,
                   " is gone: the program runs on, what was received stays in its capture. Start one again to go on."));
  }

  absl::StatusOr<BudgetReport> CurrentReport(int64_t window_ns) {
    if (collector_ != nullptr) return collector_->Report(window_ns);
    absl::StatusOr<std::string> address = FindHttpAddress("", socket_);
    if (!address.ok()) return address.status();
    return FetchBudget(*address, window_ns);
  }

  // The command and what it started, once the collector has read what the command left in its rings.
  std::set<uint32_t> WaitForFamily() const {
    ProcessFamily family;
    family.pids.insert(pid_);
    const absl::StatusOr<std::string> address = FindHttpAddress("", socket_);
    for (int tries = 0; address.ok() && !family.ended && tries < kEndTries; ++tries) {
      if (tries > 0) usleep(kTickMs * 1000);
      const absl::StatusOr<std::string> document = FetchProcessesDocument(*address);
      if (!document.ok()) break;
      family = FamilyOf(*document, pid_);
    }
    return family.pids;
  }

  void Finish() {
    CollectorTotals totals;
    BudgetReport report;
    if (collector_ != nullptr) {
      collector_->Stop();
      totals = collector_->Totals();
      report = collector_->Report(0);
    } else {
      const std::set<uint32_t> family = WaitForFamily();
      absl::StatusOr<BudgetReport> fetched = CurrentReport(0);
      if (!fetched.ok()) {
        Warn(fetched.status().message().empty() ? "the collector gave no report"
                                                : std::string(fetched.status().message()));
        return;
      }
      for (ProcessReport& process : fetched->processes) {
        if (family.count(process.pid) != 0) report.processes.push_back(std::move(process));
      }
      report.begin = fetched->begin, report.end = fetched->end;
      totals.processes_seen = report.processes.size();
      for (const ProcessReport& process : report.processes) totals.events += process.health.events;
    }
    if (options_.json) {
      std::cout << BudgetReportToJson(report) << std::endl;
      if (!totals.capture_status.ok()) Warn(std::string(totals.capture_status.message()));
    } else if (!options_.quiet) {
      RunFacts facts;
      facts.capture_path = options_.capture;
      facts.simulated_gpu = options_.gpu == "simulated";
      std::cerr << "\n" << RunSummary(report, totals, facts, SummaryWidth(), !tui::LocaleIsUtf8());
      if (!hidden_output_.empty()) std::cerr << "output     of the command: " << hidden_output_ << "\n";
    } else if (!totals.capture_status.ok()) {
      Warn(std::string(totals.capture_status.message()));
    }
  }

  const RunOptions& options_;
  std::unique_ptr<Collector> collector_;
  std::string socket_, hidden_output_;
  std::unique_ptr<LiveDisplay> display_;
  uint32_t pid_ = 0;
  int ticks_ = 0, ticks_unwatched_ = 0;
  bool listened_ = true, capture_failed_ = false;
};

}  // namespace

void AddRunCommand(CLI::App& program, const std::vector<std::string>& words, int* exit_code) {
  auto options = std::make_shared<RunOptions>();
  options->command = words;
  CLI::App* command =
      program.add_subcommand("run", "Where did the time of this command's tokens go, from its start to its end?");
  command->formatter(std::make_shared<RunHelp>());
  command->add_option("--level", options->level, kLevelHelp)->check(CLI::IsMember(LevelNames()))->capture_default_str();
  auto* capture =
      command->add_option("--capture", options->capture, "write everything received into this file (.stallcap)")
          ->type_name("FILE");
  command->add_option("--gpu", options->gpu, "real, or simulated: CUDA libraries that model a GPU")
      ->check(CLI::IsMember({"real", "simulated"}))
      ->capture_default_str();
  command
      ->add_option("--collector", options->collector,
                   "socket of a running collector (default: one is started for this run)")
      ->type_name("SOCKET")
      ->excludes(capture);
  command->add_option("--http", options->http, "address of the live view, port 0: any free one")
      ->check(HttpAddressProblem)
      ->type_name("IP:PORT")
      ->capture_default_str();
  command
      ->add_option("--vocab", options->vocabulary, "size of the model's vocabulary (default: learn it from copy sizes)")
      ->type_name("N");
  command->add_flag("--live", options->live, "show the budget while the command runs");
  command->add_option("--command-output", options->command_output, "stdout and stderr of the command go into this file")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "at the end, print the budget (schema stallscope.budget/1) on stdout");
  command->add_flag("--quiet", options->quiet, "errors only");
  command->prefix_command();
  command->footer(
      "Everything after -- is the command. Its exit code is ours (128 + N when signal N ended it); its signals are "
      "passed on.\n"
      "What we say goes to stderr, but for --json. A command that does not exist ends with 2; one that cannot be "
      "recorded (static,\n"
      "setuid, file capabilities, musl, not x86-64, or a script for such an interpreter) is not started and ends with "
      "4.\n\n"
      "Example:\n  stallscope run --live --capture llama.stallcap -- ./llama-server -m model.gguf");
  command->callback([command, options, exit_code] {
    // The first word that is no option begins the command; a -- behind it is the command's own.
    std::vector<std::string> before = command->remaining();
    if (!before.empty()) {
      if (!options->command.empty()) before.push_back("--");
      options->command.insert(options->command.begin(), before.begin(), before.end());
    }
    if (options->command.empty()) {
      Warn("no command given. Put it behind --: stallscope run -- COMMAND");
      *exit_code = kUsage;
      return;
    }
    if (!before.empty() && before[0][0] == '-') {
      Warn("unknown option " + before[0] + ". The options: stallscope run --help; the command stands behind --");
      *exit_code = kUsage;
      return;
    }
    *exit_code = RecordedRun(*options).Run();
  });
}

}  // namespace stallscope::cli
