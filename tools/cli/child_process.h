// The command under `stallscope run`: started with a changed environment, signals passed on, waited for.
//
// One object, one child, used from the thread that made it. Create it before any other thread is started: it blocks the
// signals that it takes, and threads inherit that.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace stallscope::cli {

struct ChildCommand {
  std::string path;                                              // already found
  std::vector<std::string> arguments;                            // argv, the name first
  std::vector<std::pair<std::string, std::string>> environment;  // set on top of ours
  std::string output_path;                                       // stdout and stderr go there; empty: inherited
};

class ChildProcess {
 public:
  ChildProcess();
  ~ChildProcess();  // gives the signals back
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  absl::Status Start(const ChildCommand& command);

  // Waits until the child ends, calling `tick` about every `tick_ms`. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and
  // SIGUSR2 that were sent to us are passed on; those that the terminal sent went to the child as well and are not sent
  // twice. Returns the exit code of the child, 128 + N when signal N ended it.
  int Wait(int tick_ms, const std::function<void()>& tick);

  pid_t pid() const { return pid_; }

 private:
  sigset_t taken_, before_;
  pid_t pid_ = -1;
};

}  // namespace stallscope::cli
