// What the program's exit code says. `stallscope run` is the exception: once the command has started, its code is the
// command's own (128 + signal when a signal ended it), as with nice, env and time.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace stallscope::cli {

enum ExitCode : int {
  kDone = 0,
  kAskedIsSo = 1,     // a comparison fails, a budget was broken
  kUsage = 2,         // the command line is wrong; also a command to run that does not exist
  kBadInput = 3,      // a file or an answer is not what it should be
  kNotAvailable = 4,  // cannot work here: no collector, a program that cannot be recorded
};

// Prints "stallscope: <message>" and returns the code for this kind of error.
int Fail(const absl::Status& status);

// One line to stderr, the program goes on.
void Warn(std::string_view message);

}  // namespace stallscope::cli
