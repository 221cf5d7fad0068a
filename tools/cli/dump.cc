// stallscope dump: every event of a capture.
#include <iostream>
#include <map>

#include "tools/cli/capture_command.h"
#include "tools/cli/commands.h"
#include "tools/cli/event_dump.h"
#include "tools/cli/exit_code.h"

namespace stallscope::cli {
namespace {

struct DumpOptions {
  std::string file;
  DumpFormat format = DumpFormat::kText;
  std::string format_name;
  uint32_t pid = 0;
};

int Dump(const DumpOptions& options) {
  std::ios::sync_with_stdio(false);
  EventDump dump(&std::cout, options.format, options.pid);
  const int code = FeedCapture(options.file, &dump, options.pid, Output::kMeanwhile);
  dump.Finish();
  if (dump.out_of_order() != 0) {
    Warn(std::to_string(dump.out_of_order()) + " events lay further back than " +
         std::to_string(EventDump::kWindowEvents) + " events and stand where they were found.");
  }
  return code;
}

}  // namespace

void AddDumpCommand(CLI::App& program, int* exit_code) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* command = program.add_subcommand("dump", "What exactly happened, event by event, in order of time?");
  command->add_option("FILE", options->file, "a capture (.stallcap)")->required();
  command->add_option("--format", options->format_name, "text, or json: one object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->each([options](const std::string& format) {
        options->format = format == "json" ? DumpFormat::kJson : DumpFormat::kText;
      });
  command->add_option("--process", options->pid, "only this pid")->type_name("PID");
  command->footer(
      "Times are seconds of the machine's monotonic clock; an event stands at its begin. Events are sorted within a "
      "window of\n"
      "262,144 events; what lies further back is written where it was found, and counted.\n\n"
      "Example:\n  stallscope dump run.stallcap --format json | jq -c 'select(.kind==\"wait\" and "
      ".end_ns-.begin_ns>1e6)'");
  command->callback([options, exit_code] { *exit_code = Dump(*options); });
}

}  // namespace stallscope::cli
