// The subcommands. Each lives in its own file with its options and its help, and answers one question.
//
// Add*Command registers it; when it is the one on the command line, it runs and leaves its exit code (exit_code.h).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace stallscope::cli {

// `command`: what stood behind "--".
void AddRunCommand(CLI::App& program, const std::vector<std::string>& command, int* exit_code);
void AddTopCommand(CLI::App& program, int* exit_code);
void AddCollectCommand(CLI::App& program, int* exit_code);
void AddAttachCommand(CLI::App& program, int* exit_code);
void AddDetachCommand(CLI::App& program, int* exit_code);
void AddLevelCommand(CLI::App& program, int* exit_code);
void AddPsCommand(CLI::App& program, int* exit_code);
void AddDumpCommand(CLI::App& program, int* exit_code);
void AddReportCommand(CLI::App& program, int* exit_code);
void AddBudgetCommand(CLI::App& program, int* exit_code);
void AddDoctorCommand(CLI::App& program, int* exit_code);

}  // namespace stallscope::cli
