#include "tools/cli/host_checks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "collector/main/collector.h"
#include "tools/cli/child_process.h"
#include "tools/cli/installation.h"
#include "tools/cli/live_source.h"
#include "tools/cli/private_file.h"

namespace stallscope::cli {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Check CheckAgent(const std::string& program_folder) {
  Check check{"agent library", CheckState::kMissing, "", "", true};
  absl::StatusOr<std::string> agent = FindAgent(program_folder);
  if (!agent.ok()) {
    check.found = std::string(agent.status().message());
    check.next = "build or install all of stallscope";
    return check;
  }
  std::ifstream file(*agent, std::ios::binary);
  std::string start(64 << 10, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (file.gcount() < 64 || start.substr(0, 4) != "\177ELF") {
    check.found = absl::StrCat(*agent, " is not a library");
    check.next = "build or install it again";
    return check;
  }
  // The proof: the loader takes it into a small program without a word.
  absl::StatusOr<std::string> output = MakePrivateFile("stallscope-doctor");
  if (!output.ok()) {
    check.found = std::string(output.status().message());
    check.next = "a folder for temporary files is needed";
    return check;
  }
  ChildCommand command{"/bin/true", {"true"}, {{"LD_PRELOAD", *agent}, {"STALLSCOPE_SOCKET", "/nonexistent"}}, *output};
  ChildProcess child;
  const bool started = child.Start(command).ok();
  const int code = started ? child.Wait(1000, nullptr) : -1;
  const std::string said = FirstLine(*output);
  unlink(output->c_str());
  if (code != 0 || !said.empty()) {
    check.found = absl::StrCat(*agent, " does not load: ", said.empty() ? absl::StrCat("exit code ", code) : said);
    check.next = "it needs x86-64 Linux with glibc 2.34 or later";
    return check;
  }
  check.state = CheckState::kOk;
  check.found = absl::StrCat(*agent, ", loads");
  return check;
}

Check CheckSharedMemory() {
  Check check{"shared memory", CheckState::kOk, "memfd with seals", "", true};
  const int fd = memfd_create("stallscope-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 || ftruncate(fd, 4096) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    check.state = CheckState::kMissing;
    check.found = absl::StrCat("memfd_create or its seals: ", strerror(errno));
    check.next = "allow memfd_create in the container's seccomp profile (Linux 3.17 or later has it)";
  }
  if (fd >= 0) close(fd);
  return check;
}

Check CheckClock(const std::string& root) {
  Check check{"clock"};
  std::ifstream cpuinfo(root + "/proc/cpuinfo");
  bool constant = false, nonstop = false;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    constant = line.find(" constant_tsc") != std::string::npos;
    nonstop = line.find(" nonstop_tsc") != std::string::npos;
    break;
  }
  const std::string source = FirstLine(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (constant && nonstop) {
    check.found = absl::StrCat("invariant TSC", source.empty() ? "" : ", kernel clock source ", source);
  } else {
    check.state = CheckState::kWarn;
    check.found =
        absl::StrCat("no invariant TSC (", constant ? "" : "constant_tsc ", nonstop ? "" : "nonstop_tsc ", "missing)");
    check.next = "times come from clock_gettime: some 20 ns more for each recorded event";
  }
  return check;
}

Check CheckPtrace(const std::string& root) {
  Check check{"ptrace scope"};
  const std::string scope = FirstLine(root + "/proc/sys/kernel/yama/ptrace_scope");
  if (scope.empty() || scope == "0") {
    check.found = scope.empty() ? "not restricted (no yama)" : "0: your own processes may be looked into";
    return check;
  }
  check.state = CheckState::kWarn;
  check.found = scope + ": only child processes may be looked into";
  check.next =
      "preloading at start (stallscope run) needs none of it; looking at running processes needs root or scope 0";
  return check;
}

Check CheckSocketFolder(const std::string& socket_path) {
  const fs::path folder = fs::path(socket_path).parent_path();
  Check check{"socket folder", CheckState::kOk, folder.string(), "", true};
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) {
    fs::path above = folder.parent_path();
    std::error_code error;
    while (!above.empty() && !fs::exists(above, error) && above != above.parent_path()) above = above.parent_path();
    if (access(above.c_str(), W_OK) == 0) {
      check.found += ", will be made";
    } else {
      check.state = CheckState::kMissing;
      check.found += absl::StrCat(" does not exist and cannot be made in ", above.string());
      check.next = "set XDG_RUNTIME_DIR or STALLSCOPE_SOCKET to a place of yours";
    }
    return check;
  }
  if (!S_ISDIR(status.st_mode) || access(folder.c_str(), W_OK | X_OK) != 0) {
    check.state = CheckState::kMissing;
    check.found += " is not writable for you";
    check.next = "set XDG_RUNTIME_DIR or STALLSCOPE_SOCKET to a place of yours";
  } else if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    check.state = CheckState::kWarn;
    check.found += status.st_uid != geteuid() ? " belongs to another user" : " is open to other users";
    check.next = "chmod 700 " + folder.string() + ", or choose another with STALLSCOPE_SOCKET";
  }
  return check;
}

Check CheckCollector() {
  Check check{"collector"};
  const std::vector<CollectorAddress> collectors = FindCollectors();
  if (collectors.empty()) {
    check.found = "none of yours runs; stallscope run starts its own";
    return check;
  }
  for (const CollectorAddress& collector : collectors) {
    absl::StrAppend(&check.found, check.found.empty() ? "" : "; ", "pid ", collector.pid, " at ", collector.socket);
    if (collector.http.empty()) continue;
    absl::StatusOr<std::string> answer = FetchBudgetDocument(collector.http, 1'000'000'000);
    absl::StrAppend(&check.found, answer.ok() ? ", answers at " : ", does not answer at ", collector.http);
    if (!answer.ok()) {
      check.state = CheckState::kWarn;
      check.next = std::string(answer.status().message());
    }
  }
  return check;
}

}  // namespace stallscope::cli
