// What the subcommands that read a capture share: the warning about a cut file, the exit code for a foreign one.
#pragma once

#include <string>

#include "collector/base/event.h"

namespace stallscope::cli {

// Feeds the capture to the sink. kDone, also for a cut file (a warning goes to stderr); otherwise an error was printed
// and this is the exit code.
int FeedCapture(const std::string& path, ProcessSink* sink);

}  // namespace stallscope::cli
