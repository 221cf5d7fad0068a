// stallscope: where each generated token's time goes. The subcommands are the table of contents.
#include <locale.h>

#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/exit_code.h"

#ifndef STALLSCOPE_VERSION
#error "the build gives the version"
#endif

namespace {

// What stands behind the first "--" of `run` is its command, to the letter: no option parser looks at it.
std::vector<std::string> TakeCommand(int* argc, char** argv) {
  if (*argc < 2 || std::strcmp(argv[1], "run") != 0) return {};
  for (int i = 2; i < *argc; ++i) {
    if (std::strcmp(argv[i], "--") != 0) continue;
    std::vector<std::string> command(argv + i + 1, argv + *argc);
    *argc = i;
    return command;
  }
  return {};
}

// One line: what is wrong and whose help to read.
std::string UsageError(const CLI::App& program, const std::string& first_word, const CLI::Error& error) {
  std::string subcommand, names;
  for (const CLI::App* one : program.get_subcommands()) subcommand = one->get_name();  // the one given
  for (const CLI::App* one : program.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + one->get_name();
  }
  if (!subcommand.empty()) {
    return "stallscope: " + std::string(error.what()) + ". The options: stallscope " + subcommand + " --help\n";
  }
  return "stallscope: " +
         (first_word.empty() ? "no subcommand given" : "there is no subcommand or option " + first_word) +
         ". Give one of " + names + ", or --help.\n";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace stallscope::cli;
  const std::vector<std::string> command = TakeCommand(&argc, argv);
  setlocale(LC_CTYPE, "");  // names and bars are UTF-8 where the terminal is; numbers stay as in C

  CLI::App program("Where did each generated token's time go, and what should change?", "stallscope");
  program.set_version_flag("--version", STALLSCOPE_VERSION);
  program.require_subcommand(1);
  const std::string first_word = argc > 1 ? argv[1] : "";
  program.failure_message([&program, &first_word](const CLI::App*, const CLI::Error& error) {
    return UsageError(program, first_word, error);
  });
  program.footer(
      "Exit codes: 0 done, 1 the thing asked about is so, 2 usage, 3 bad input, 4 not available here.\n"
      "`run` ends with the exit code of the command.\n\n"
      "Example:\n  stallscope run --live -- ./llama-server -m model.gguf");

  int exit_code = kDone;
  AddRunCommand(program, command, &exit_code);  // record a command, say at its end where the time went
  AddAttachCommand(program, &exit_code);        // record a process that runs already
  AddDetachCommand(program, &exit_code);        // and let it go
  AddLevelCommand(program, &exit_code);
  AddTopCommand(program, &exit_code);      // where it goes now
  AddCollectCommand(program, &exit_code);  // the collector in the foreground
  AddPsCommand(program, &exit_code);       // who is recorded
  AddBudgetCommand(program, &exit_code);   // the budget of a capture
  AddReportCommand(program, &exit_code);   // the four tables of a capture
  AddDumpCommand(program, &exit_code);     // every event of a capture
  AddDoctorCommand(program, &exit_code);   // what will work here
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kDone : kUsage;
  }
  if (!std::cout.flush()) {
    Warn("the output could not be written. Is its disk full, or was the pipe closed?");
    if (exit_code == kDone && first_word != "run") return kNotAvailable;  // of run it is the command's
  }
  return exit_code;
}
