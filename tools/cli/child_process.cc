#include "tools/cli/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace stallscope::cli {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::vector<std::string> MergedEnvironment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool changed = false;
    for (const auto& change : changes) changed = changed || change.first == name;
    if (!changed) merged.emplace_back(text);
  }
  for (const auto& [name, value] : changes) merged.push_back(absl::StrCat(name, "=", value));
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ChildProcess::ChildProcess() {
  sigemptyset(&taken_);
  sigaddset(&taken_, SIGCHLD);
  for (int number : kPassedOn) sigaddset(&taken_, number);
  pthread_sigmask(SIG_BLOCK, &taken_, &before_);
}

ChildProcess::~ChildProcess() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

absl::Status ChildProcess::Start(const ChildCommand& command) {
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = MergedEnvironment(command.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!command.output_path.empty()) {
    // Opened here first, so that the error names the file and not the command.
    const int fd = open(command.output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
      return absl::UnavailableError(absl::StrCat("cannot write the command's output to ", command.output_path, ": ",
                                                 strerror(errno), ". Choose another --command-output."));
    }
    close(fd);
    posix_spawn_file_actions_addopen(&actions, 1, command.output_path.c_str(), O_WRONLY | O_APPEND, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before_);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::vector<char*> argv = Pointers(arguments);
  std::vector<char*> envp = Pointers(environment);
  int error = posix_spawn(&pid_, command.path.c_str(), &actions, &attributes, argv.data(), envp.data());
  if (error == ENOEXEC) {  // a script without #!: the shell runs it, as execvp would have it
    std::vector<std::string> shell = {"/bin/sh", command.path};
    shell.insert(shell.end(), command.arguments.begin() + 1, command.arguments.end());
    std::vector<char*> shell_argv = Pointers(shell);
    error = posix_spawn(&pid_, "/bin/sh", &actions, &attributes, shell_argv.data(), envp.data());
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    return absl::UnavailableError(absl::StrCat("cannot start ", command.path, ": ", strerror(error), "."));
  }
  return absl::OkStatus();
}

int ChildProcess::Wait(int tick_ms, const std::function<void()>& tick) {
  const timespec timeout = {tick_ms / 1000, (tick_ms % 1000) * 1'000'000L};
  for (;;) {
    siginfo_t signal_info;
    const int number = sigtimedwait(&taken_, &signal_info, &timeout);
    if (number > 0 && number != SIGCHLD) {
      if (signal_info.si_code != SI_KERNEL) kill(pid_, number);
      continue;
    }
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (ended < 0 && errno != EINTR) return 127;
    if (number < 0 && tick) tick();
  }
}

}  // namespace stallscope::cli
