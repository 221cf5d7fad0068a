#include "tools/attach/target_process.h"

#include <dirent.h>
#include <elf.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tools/cli/target_program.h"

namespace stallscope::attach {
namespace {

using Fields = std::map<std::string, std::string>;

Fields ParseStatus(const std::string& text) {
  Fields fields;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    fields[std::string(parts.first)] = std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return fields;
}

int64_t Number(const Fields& fields, const char* name) {
  const auto found = fields.find(name);
  int64_t value = 0;
  if (found == fields.end()) return 0;
  return absl::SimpleAtoi(found->second.substr(0, found->second.find_first_of(" \t")), &value) ? value : 0;
}

std::string ReadStart(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(64 << 10, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

std::string LinkTarget(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  target.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return target;
}

uint32_t EffectiveUid(const Fields& status) {
  const auto found = status.find("Uid");
  if (found == status.end()) return 0;
  std::istringstream numbers(found->second);
  uint32_t real = 0, effective = 0;
  numbers >> real >> effective;
  return effective;
}

absl::Status Refuse(const std::string& who, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot attach to ", who, ": ", why));
}

bool StartedSecurely(const std::string& auxiliary_vector) {
  for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= auxiliary_vector.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, auxiliary_vector.data() + at, sizeof(entry));
    if (entry.a_type == AT_SECURE) return entry.a_un.a_val != 0;
  }
  return false;
}

// Yama's rules, where the kernel has them.
absl::Status CheckPtraceScope(const std::string& root, const std::string& who, const Asker& asker) {
  const std::string text = ReadProcFile(absl::StrCat(root, "/proc/sys/kernel/yama/ptrace_scope"));
  int scope = 0;
  if (text.empty() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &scope) || scope == 0)
    return absl::OkStatus();
  if (scope >= 3) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot attach to ", who,
                     ": kernel.yama.ptrace_scope is 3, and nobody may until the machine is booted again. Start the "
                     "program under stallscope run."));
  }
  if (asker.may_trace_any) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("cannot attach to ", who, ": kernel.yama.ptrace_scope is ", scope,
                   scope == 1 ? ", which allows a program's own children only" : ", which allows it to root only",
                   ". Run stallscope attach as root, or set it to 0: sysctl kernel.yama.ptrace_scope=0"));
}

// A filter that the process has put on itself may kill it for a call of ours; one that it has inherited (a container's)
// lets ordinary calls pass.
bool HasOwnSeccompFilter(const std::string& root, const Fields& status) {
  if (Number(status, "Seccomp") != 2) return false;
  const int64_t filters = Number(status, "Seccomp_filters");
  const Fields own = ParseStatus(ReadProcFile(root + "/proc/self/status"));
  if (filters <= Number(own, "Seccomp_filters")) return false;
  const auto ids = status.find("NSpid");
  const bool is_first_of_container = ids != status.end() && absl::EndsWith(ids->second, "\t1");
  if (is_first_of_container) return false;
  const Fields parent = ParseStatus(ReadProcFile(absl::StrCat(root, "/proc/", Number(status, "PPid"), "/status")));
  return filters > Number(parent, "Seccomp_filters");
}

absl::Status CheckState(const std::string& who, const Fields& status, const Asker& asker, int pid) {
  const auto state = status.find("State");
  const char letter = state != status.end() && !state->second.empty() ? state->second[0] : '?';
  if (letter == 'Z' || letter == 'X') {
    return Refuse(who, "it has ended and is a zombie until its parent asks for it. Give a running process.");
  }
  if (letter == 'T') {
    return Refuse(who, absl::StrCat("it is stopped. Let it go on first: kill -CONT ", pid));
  }
  if (Number(status, "Kthread") == 1 || status.count("VmSize") == 0) {
    return Refuse(who, "it is a thread of the kernel. Give a program's process.");
  }
  if (pid == asker.pid) return Refuse(who, "it is this stallscope itself. Give another process.");
  if (const int64_t tracer = Number(status, "TracerPid"); tracer != 0 || letter == 't') {
    return Refuse(who, absl::StrCat("process ", tracer, " traces it already (a debugger, strace). End that first."));
  }
  if (Number(status, "Seccomp") == 1) {
    return Refuse(who,
                  "it runs under strict seccomp and would be killed. It can only be started under stallscope run.");
  }
  return absl::OkStatus();
}

}  // namespace

std::string ReadProcFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

Asker Asker::OfThisProcess() {
  Asker asker{geteuid(), getpid(), false};
  uint64_t effective = 0;
  const Fields status = ParseStatus(ReadProcFile("/proc/self/status"));
  if (const auto found = status.find("CapEff");
      found != status.end() && absl::SimpleHexAtoi(found->second, &effective)) {
    asker.may_trace_any = (effective >> CAP_SYS_PTRACE & 1) != 0;
  }
  return asker;
}

std::vector<int> ThreadsOf(int pid) {
  std::vector<int> threads;
  DIR* folder = opendir(absl::StrCat("/proc/", pid, "/task").c_str());
  if (folder == nullptr) return threads;
  while (const dirent* entry = readdir(folder)) {
    int tid = 0;
    if (absl::SimpleAtoi(entry->d_name, &tid)) threads.push_back(tid);
  }
  closedir(folder);
  std::sort(threads.begin(), threads.end());
  return threads;
}

absl::StatusOr<TargetProcess> InspectProcess(const std::string& root, int pid, const Asker& asker) {
  const std::string proc = absl::StrCat(root, "/proc/", pid);
  const std::string status_text = ReadProcFile(proc + "/status");
  if (status_text.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no process ", pid, ". ps -e lists what runs."));
  }
  const Fields status = ParseStatus(status_text);
  // A thread's number has a folder in /proc too.
  if (Number(status, "Tgid") != pid) {
    return absl::NotFoundError(absl::StrCat(pid, " is a thread of process ", Number(status, "Tgid"),
                                            ". Give the process: stallscope attach ", Number(status, "Tgid")));
  }
  TargetProcess target;
  target.pid = pid;
  target.uid = EffectiveUid(status);
  target.threads = static_cast<int>(Number(status, "Threads"));
  if (const auto name = status.find("Name"); name != status.end()) target.name = name->second;
  const std::string who = absl::StrCat(pid, " (", target.name, ")");
  if (absl::Status state = CheckState(who, status, asker, pid); !state.ok()) return state;
  if (target.uid != asker.uid && !asker.may_trace_any) {
    return absl::PermissionDeniedError(absl::StrCat("cannot attach to ", who, ": it belongs to user ", target.uid,
                                                    " and you are ", asker.uid, ". Run stallscope as that user."));
  }
  // Without the mark that it was replaced on disk, as in its mappings.
  target.executable = std::string(absl::StripSuffix(LinkTarget(proc + "/exe"), " (deleted)"));
  const std::string start = ReadStart(proc + "/exe");
  const std::string maps = ReadProcFile(proc + "/maps");
  if (maps.empty() || start.empty()) {
    // The kernel gives /proc of such a process to root.
    return absl::PermissionDeniedError(absl::StrCat(
        "cannot attach to ", who,
        ": it does not let itself be looked at (not dumpable: prctl, or rights that it dropped). Start it under "
        "stallscope run."));
  }
  if (absl::Status elf = cli::InspectElf(target.executable, start); !elf.ok()) {
    return absl::Status(elf.code(), absl::StrCat(elf.message(), " (process ", who, ")"));
  }
  if (StartedSecurely(ReadProcFile(proc + "/auxv"))) {
    return Refuse(who, "it was started with privileges (setuid, setgid or file capabilities). Start it as its owner.");
  }
  target.mappings = ParseMaps(maps);
  target.modules = ModulesOf(target.mappings);
  bool has_libc = false;
  for (const MappedModule& module : target.modules) {
    const std::string name = module.file_name();
    if (absl::StartsWith(name, "ld-musl")) {
      return Refuse(who, "it uses musl, and the agent needs glibc. Run a glibc build of it.");
    }
    has_libc |= absl::StartsWith(name, "libc.so.6") || absl::StartsWith(name, "libc-2.");
    if (absl::StartsWith(name, "libtsan.so")) {
      return Refuse(who,
                    "it runs under the thread sanitizer, which does not know threads that it has not made. "
                    "Start it under stallscope run.");
    }
    if (absl::StrContains(name, "libstallscope.so")) target.agent = &module;
  }
  if (!has_libc) return Refuse(who, "no glibc is mapped in it (yet). Try again when it has started.");
  if (HasOwnSeccompFilter(root, status)) {
    return Refuse(who,
                  "it has put a seccomp filter on itself, which may kill it for calls that it never makes. Start it "
                  "under stallscope run.");
  }
  if (absl::Status scope = CheckPtraceScope(root, who, asker); !scope.ok()) return scope;
  return target;
}

}  // namespace stallscope::attach
