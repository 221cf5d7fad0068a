// stallscope attach: record a process that runs already.
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/main/collector.h"
#include "tools/attach/injection.h"
#include "tools/attach/target_process.h"
#include "tools/cli/collector_socket.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/installation.h"
#include "tools/cli/level_option.h"
#include "tools/tui/number_text.h"

namespace stallscope::cli {
namespace {

struct AttachOptions {
  int pid = 0;
  std::string collector, level = "budget";
  double wait_s = 5;
  bool json = false;
};

std::string Text(const attach::TargetProcess& target, const attach::Injection& injection) {
  std::string text = absl::StrFormat(
      "recording %d (%s): %d call slots in %d modules; thread %d (%s, in %s) stood still for %.1f ms%s\n", target.pid,
      target.name, injection.answer.slots, injection.answer.modules, injection.borrowed_tid, injection.borrowed_name,
      injection.borrowed_call, absl::ToDoubleMilliseconds(injection.stopped),
      injection.answer.cuda != 0 ? "; CUDA was in use already" : "");
  if (injection.answer.modules_not_ready != 0) {
    absl::StrAppend(&text, injection.answer.modules_not_ready,
                    " modules are being loaded at this moment and come later\n");
  }
  if (!injection.waits.empty()) {
    absl::StrAppend(&text, "\nThese threads wait since before that; each is recorded from its next call on:\n",
                    absl::StrFormat("%8s  %-16s %-16s %s\n", "TID", "NAME", "CALL", "ON"));
    for (const attach::WaitInFlight& wait : injection.waits) {
      absl::StrAppend(&text, absl::StrFormat("%8d  %s %s %s\n", wait.tid, tui::Padded(wait.thread_name, 16),
                                             tui::Padded(wait.call, 16), wait.object));
    }
  }
  return text;
}

std::string Json(const attach::TargetProcess& target, const attach::Injection& injection, const std::string& socket,
                 bool collector_listens) {
  nlohmann::ordered_json document = {{"schema", "stallscope.attach/1"},
                                     {"pid", target.pid},
                                     {"comm", target.name},
                                     {"collector", socket},
                                     {"collector_listens", collector_listens},
                                     {"modules", injection.answer.modules},
                                     {"modules_not_ready", injection.answer.modules_not_ready},
                                     {"slots", injection.answer.slots},
                                     {"streaming", injection.answer.streaming != 0},
                                     {"cuda_initialized", injection.answer.cuda != 0},
                                     {"stopped_ns", absl::ToInt64Nanoseconds(injection.stopped)},
                                     {"borrowed_tid", injection.borrowed_tid},
                                     {"borrowed_call", injection.borrowed_call},
                                     {"own_thread", injection.own_thread}};
  document["waits"] = nlohmann::ordered_json::array();
  for (const attach::WaitInFlight& wait : injection.waits) {
    document["waits"].push_back(
        {{"tid", wait.tid}, {"name", wait.thread_name}, {"call", wait.call}, {"on", wait.object}});
  }
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Of the user whose process it is: an agent talks to a collector of its own user.
std::string SocketFor(const attach::TargetProcess& target, const attach::Asker& asker) {
  if (target.uid == asker.uid) return DefaultSocketPath();
  return target.uid == 0 ? "/run/stallscope/collector.sock"
                         : absl::StrCat("/tmp/stallscope-", target.uid, "/collector.sock");
}

int AttachTo(const AttachOptions& options) {
  const absl::StatusOr<std::string> library = FindAgent(ProgramFolder());
  if (!library.ok()) return Fail(library.status());
  const attach::Asker asker = attach::Asker::OfThisProcess();
  const absl::StatusOr<attach::TargetProcess> target = attach::InspectProcess("", options.pid, asker);
  if (!target.ok()) return Fail(target.status());
  attach::InjectionOptions injection_options;
  injection_options.library = *library;
  injection_options.socket_path = options.collector.empty() ? SocketFor(*target, asker) : options.collector;
  const AskedLevel asked = LevelOf(options.level);
  injection_options.level_plus_one = static_cast<uint32_t>(asked.level) + 1;
  injection_options.stacks = asked.stacks;
  injection_options.limit = absl::Seconds(options.wait_s);
  const absl::StatusOr<attach::Injection> injection = attach::Attach(*target, injection_options);
  if (!injection.ok()) return Fail(injection.status());
  const bool listens = SomebodyListens(injection_options.socket_path);
  std::cout << (options.json ? Json(*target, *injection, injection_options.socket_path, listens)
                             : Text(*target, *injection));
  std::cout.flush();
  if (!listens) {
    Warn(absl::StrCat("no collector listens at ", injection_options.socket_path,
                      ": the process is recorded once one does. Start one: stallscope collect --listen ",
                      injection_options.socket_path));
  } else if (!options.json) {
    std::cout << "live: stallscope top; end it: stallscope detach " << options.pid << std::endl;
  }
  return kDone;
}

}  // namespace

void AddAttachCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<AttachOptions>();
  CLI::App* command =
      program.add_subcommand("attach", "Where does the time of this process's tokens go, without a restart?");
  command->add_option("PID", options->pid, "the process")->required()->check(CLI::Range(1, 1 << 22));
  command
      ->add_option("--collector", options->collector,
                   "socket of the collector it reports to (default: that of the process's user)")
      ->type_name("SOCKET");
  command->add_option("--level", options->level, kLevelHelp)->check(CLI::IsMember(LevelNames()))->capture_default_str();
  command->add_option("--wait", options->wait_s, "how long to look for a thread that stands at a safe place")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "a document of schema stallscope.attach/1");
  command->footer(
      "No debugger is needed. One thread, parked in a system call, stands still for about a millisecond; nothing the\n"
      "program does returns early or fails. Exit code 4 says that it cannot be done, and why; the process is then as "
      "it\n"
      "was.\n\n"
      "Example:\n  stallscope attach $(pgrep -f EngineCore)");
  command->callback([options, exit_code] { *exit_code = AttachTo(*options); });
}

}  // namespace stallscope::cli
