#include "tools/cli/target_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace stallscope::cli {
namespace {

constexpr size_t kBytesToRead = 64 << 10;  // program headers stand right behind the ELF header in practice
constexpr int kMaxInterpreters = 4;        // as many levels of #! as the kernel follows

absl::StatusOr<std::string> FindCommand(const std::string& command, const std::string& search_path) {
  if (command.find('/') != std::string::npos) {
    if (access(command.c_str(), F_OK) == 0) return command;
    return absl::NotFoundError(absl::StrCat("no such program: ", command, ". Check the path after --."));
  }
  std::string not_executable;
  for (absl::string_view folder : absl::StrSplit(search_path, ':')) {
    const std::string path = absl::StrCat(folder.empty() ? absl::string_view(".") : folder, "/", command);
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
    if (access(path.c_str(), X_OK) == 0) return path;
    not_executable = path;
  }
  if (!not_executable.empty()) return not_executable;
  return absl::NotFoundError(absl::StrCat("no command ", command, " in PATH. Give its path after --."));
}

// A privileged start makes the loader ignore LD_PRELOAD (AT_SECURE).
absl::Status CheckPrivileges(const std::string& path, const struct stat& status, const Credentials& credentials) {
  struct statvfs mount {};
  const bool ids_ignored = statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0;
  if (ids_ignored) return absl::OkStatus();
  const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != credentials.uid;
  const bool changes_group =
      (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != credentials.gid;
  if (changes_user || changes_group) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot record ", path, ": it is ", changes_user ? "setuid" : "setgid",
        ", and the loader preloads nothing into privileged programs. Run it as its owner without the bit."));
  }
  if (credentials.uid != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot record ", path,
                     ": it has file capabilities, and the loader preloads nothing into privileged "
                     "programs. Run a copy without them (cp drops them)."));
  }
  return absl::OkStatus();
}

// "#! /usr/bin/env -S python3 -u" -> what will really be executed, "" when it cannot be told.
std::string InterpreterOf(const std::string& first_line, const std::string& search_path) {
  const std::vector<std::string> words =
      absl::StrSplit(first_line.substr(2), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty()) return "";
  const std::string& interpreter = words[0];
  if (interpreter.substr(interpreter.rfind('/') + 1) != "env") return interpreter;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i][0] == '-' || words[i].find('=') != std::string::npos) continue;
    absl::StatusOr<std::string> found = FindCommand(words[i], search_path);
    return found.ok() ? *found : words[i];
  }
  return interpreter;
}

absl::Status InspectFile(const std::string& path, const std::string& search_path, const Credentials& credentials,
                         int depth, TargetProgram* target) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return absl::NotFoundError(absl::StrCat("no such program: ", path, " (", strerror(errno), "). Check the path."));
  }
  if (S_ISDIR(status.st_mode)) return absl::NotFoundError(absl::StrCat(path, " is a directory, not a program."));
  if (access(path.c_str(), X_OK) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot execute ", path, ": ", strerror(errno), ". Try chmod +x."));
  }
  std::string start(kBytesToRead, '\0');
  std::ifstream file(path, std::ios::binary);
  // Executable but not readable: the kernel can run it, we cannot look. Let it try.
  if (!file) return CheckPrivileges(path, status, credentials);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));

  if (start.substr(0, 2) == "#!") {
    // Set-id bits of a script take no effect; those of its interpreter do.
    const std::string interpreter = InterpreterOf(start.substr(0, start.find('\n')), search_path);
    if (interpreter.empty() || depth >= kMaxInterpreters) return absl::OkStatus();
    if (target->interpreter_path.empty()) target->interpreter_path = interpreter;
    absl::Status inner = InspectFile(interpreter, search_path, credentials, depth + 1, target);
    if (inner.ok()) return inner;
    return absl::Status(inner.code(), absl::StrCat(inner.message(), " It is the interpreter of ", path, "."));
  }
  if (absl::Status secure = CheckPrivileges(path, status, credentials); !secure.ok()) return secure;
  if (start.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG)) return absl::OkStatus();  // the shell will run it
  return InspectElf(path, start);
}

}  // namespace

Credentials Credentials::OfThisProcess() { return {geteuid(), getegid()}; }

absl::Status InspectElf(const std::string& path, std::string_view file_start) {
  auto refuse = [&path](const char* why) {
    return absl::FailedPreconditionError(absl::StrCat("cannot record ", path, ": ", why));
  };
  Elf64_Ehdr header;
  if (file_start.size() < sizeof(header)) return refuse("its ELF header is cut. Is the file complete?");
  std::memcpy(&header, file_start.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    return refuse("it is not an x86-64 program, and the agent is. Run a 64-bit build of it.");
  }
  bool dynamic = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const uint64_t at = header.e_phoff + uint64_t{i} * header.e_phentsize;
    Elf64_Phdr segment;
    if (header.e_phentsize < sizeof(segment) || at > file_start.size() || file_start.size() - at < sizeof(segment)) {
      return refuse("its program headers cannot be read. Is the file complete?");
    }
    std::memcpy(&segment, file_start.data() + at, sizeof(segment));
    if (segment.p_type != PT_INTERP) continue;
    dynamic = true;
    if (segment.p_offset >= file_start.size()) continue;
    const std::string_view loader =
        file_start.substr(segment.p_offset, std::min<uint64_t>(segment.p_filesz, file_start.size() - segment.p_offset));
    if (loader.find("ld-musl") != std::string_view::npos) {
      return refuse("it uses musl, and the agent needs glibc. Run a glibc build of it (Debian, Ubuntu, RHEL images).");
    }
  }
  if (!dynamic) {
    return refuse("it is static: there is no loader that could preload the agent. Link it dynamically.");
  }
  return absl::OkStatus();
}

absl::StatusOr<TargetProgram> InspectTarget(const std::string& command, const std::string& search_path,
                                            const Credentials& credentials) {
  absl::StatusOr<std::string> path = FindCommand(command, search_path);
  if (!path.ok()) return path.status();
  TargetProgram target{*path, ""};
  if (absl::Status status = InspectFile(*path, search_path, credentials, 0, &target); !status.ok()) return status;
  return target;
}

}  // namespace stallscope::cli
