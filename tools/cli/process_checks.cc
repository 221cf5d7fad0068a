#include "tools/cli/process_checks.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/cli/target_program.h"

namespace stallscope::cli {
namespace {

absl::StatusOr<std::string> ReadAll(const std::string& path, size_t limit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::UnavailableError(strerror(errno));
  std::string bytes(limit, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(limit));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// The files mapped into the process, each once.
std::set<std::string> MappedFiles(const std::string& maps) {
  std::set<std::string> files;
  const std::vector<std::string> lines = absl::StrSplit(maps, '\n');
  for (const std::string& line : lines) {
    if (const size_t slash = line.find('/'); slash != std::string::npos) files.insert(line.substr(slash));
  }
  return files;
}

// The first mapped file whose name (without folders) begins with `prefix`, else "".
std::string Mapped(const std::set<std::string>& files, const std::string& prefix) {
  for (const std::string& file : files) {
    if (file.compare(file.rfind('/') + 1, prefix.size(), prefix) == 0) return file;
  }
  return "";
}

bool StartedSecurely(const std::string& auxiliary_vector) {
  for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= auxiliary_vector.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, auxiliary_vector.data() + at, sizeof(entry));
    if (entry.a_type == AT_SECURE) return entry.a_un.a_val != 0;
  }
  return false;
}

Check CheckKind(const std::string& proc, const std::set<std::string>& files) {
  Check check{"program", CheckState::kOk, "", "", true};
  absl::StatusOr<std::string> start = ReadAll(proc + "/exe", 64 << 10);
  std::string path(4096, '\0');
  const ssize_t length = readlink((proc + "/exe").c_str(), path.data(), path.size());
  path.resize(length > 0 ? static_cast<size_t>(length) : 0);
  absl::Status elf = start.ok() ? InspectElf(path, *start) : absl::OkStatus();
  absl::StatusOr<std::string> auxv = ReadAll(proc + "/auxv", 4096);
  if (!elf.ok()) {
    check.state = CheckState::kMissing;
    check.found = std::string(elf.message());
    check.next = "it cannot be recorded as it is";
  } else if (auxv.ok() && StartedSecurely(*auxv)) {
    check.state = CheckState::kMissing;
    check.found = path + " was started with privileges (setuid, setgid or file capabilities)";
    check.next = "start it as its owner without them";
  } else if (!Mapped(files, "ld-musl").empty()) {
    check.state = CheckState::kMissing;
    check.found = path + " uses musl";
    check.next = "run a glibc build of it";
  } else {
    check.found = path + ", dynamic, glibc";
  }
  return check;
}

Check CheckAgentLoaded(const std::set<std::string>& files) {
  Check check{"agent in it"};
  check.found = Mapped(files, "libstallscope.so");
  if (check.found.empty()) {
    check.state = CheckState::kWarn;
    check.found = "not loaded";
    check.next = "stallscope attach loads it; or start it under stallscope run -- COMMAND";
  }
  return check;
}

Check CheckLibrary(const char* name, const char* prefix, const char* next, const std::set<std::string>& files) {
  Check check{name};
  check.found = Mapped(files, prefix);
  if (check.found.empty()) {
    check.state = CheckState::kWarn;
    check.found = "not mapped";
    check.next = next;
  } else if (check.found.find("simgpu") != std::string::npos) {
    check.found += " (simulated GPU)";
  }
  return check;
}

// Tools that hold what we need: CUPTI takes one subscriber, debuggers and sanitizers replace the driver's callbacks.
Check CheckOtherTools(const std::string& environment, const std::set<std::string>& files) {
  Check check{"other tools"};
  std::set<std::string> seen;
  for (const auto& [prefix, tool] : {std::pair<const char*, const char*>{"libToolsInjection", "Nsight Systems"},
                                     {"libToolsInjectionProxy", "Nsight Systems"},
                                     {"libsanitizer-collection", "compute-sanitizer"},
                                     {"libInterceptorInjectionTarget", "compute-sanitizer"},
                                     {"libcuda-injection", "Nsight Compute"},
                                     {"libnsys", "Nsight Systems"}}) {
    if (!Mapped(files, prefix).empty()) seen.insert(tool);
  }
  const std::vector<std::string> variables = absl::StrSplit(environment, '\0', absl::SkipEmpty());
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('='));
    if (name == "CUDA_INJECTION64_PATH" || name == "NVTX_INJECTION64_PATH") {
      if (variable.find("libstallscope") == std::string::npos) seen.insert(name + " is set");
    } else if (name.rfind("NSYS_", 0) == 0 || name.rfind("QUADD_", 0) == 0) {
      seen.insert("Nsight Systems");
    }
  }
  if (seen.empty()) {
    check.found = "none seen";
    return check;
  }
  for (const std::string& tool : seen) absl::StrAppend(&check.found, check.found.empty() ? "" : ", ", tool);
  check.state = CheckState::kWarn;
  check.next = "CUPTI takes one tool at a time: while it runs, GPU lines fall back to what the calls tell";
  return check;
}

}  // namespace

Checks CheckProcess(const std::string& root, uint32_t pid) {
  const std::string proc = absl::StrCat(root, "/proc/", pid);
  struct stat status {};
  if (stat(proc.c_str(), &status) != 0) {
    return {{"process", CheckState::kMissing, absl::StrCat("there is no process ", pid),
             "stallscope ps lists the recorded ones", true}};
  }
  absl::StatusOr<std::string> maps = ReadAll(proc + "/maps", 16 << 20);
  if (!maps.ok()) {
    return {
        {"process", CheckState::kMissing,
         absl::StrCat(pid, " belongs to user ", status.st_uid, " (you are ", geteuid(), "): ", maps.status().message()),
         "run doctor as that user or root", true}};
  }
  Checks checks = {{"process", CheckState::kOk, absl::StrCat(pid, ", readable")}};
  const std::set<std::string> files = MappedFiles(*maps);
  checks.push_back(CheckKind(proc, files));
  checks.push_back(CheckAgentLoaded(files));
  checks.push_back(CheckLibrary("CUDA runtime", "libcudart.so", "linked statically, or no CUDA program (yet)", files));
  checks.push_back(CheckLibrary("CUDA driver", "libcuda.so", "no CUDA call was made yet", files));
  checks.push_back(CheckLibrary("CUPTI", "libcupti.so", "it is loaded at the first CUDA call under the agent", files));
  absl::StatusOr<std::string> environment = ReadAll(proc + "/environ", 1 << 20);
  checks.push_back(CheckOtherTools(environment.ok() ? *environment : "", files));
  return checks;
}

}  // namespace stallscope::cli
