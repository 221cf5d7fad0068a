// What the subcommands that read a capture share: progress on a terminal, the warning about a cut file, the exit code for
// a foreign one or a process that is not in it.
#pragma once

#include <string>

#include "collector/base/event.h"

namespace stallscope::cli {

// Whether the sink writes to stdout while it is fed: then progress is shown only when stdout is no terminal.
enum class Output { kAtTheEnd, kMeanwhile };

// Feeds the capture to the sink. kDone, also for a cut file (a warning goes to stderr); otherwise an error was printed
// and this is the exit code. pid: the process asked for, 0: all.
int FeedCapture(const std::string& path, ProcessSink* sink, uint32_t pid = 0, Output output = Output::kAtTheEnd);

}  // namespace stallscope::cli
