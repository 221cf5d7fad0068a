// Whether a command can be recorded by preloading the agent, found out before anything is started.
//
// The loader ignores LD_PRELOAD for privileged programs, and static or foreign programs have no such loader at all:
// they would run unrecorded without a word. The message of each refusal is one line that ends in what to do.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stallscope::cli {

struct TargetProgram {
  std::string path;              // what will be executed
  std::string interpreter_path;  // of a script, else empty
};

// Who will run it: decides whether set-id bits and file capabilities take effect.
struct Credentials {
  unsigned uid = 0, gid = 0;
  static Credentials OfThisProcess();
};

// NotFound: no such command in `search_path` (the PATH variable) or at the path given. PermissionDenied: not
// executable. FailedPrecondition: it exists and cannot be recorded: static, set-id, with capabilities, musl, another
// machine, or a script whose interpreter is one of these.
absl::StatusOr<TargetProgram> InspectTarget(const std::string& command, const std::string& search_path,
                                            const Credentials& credentials);

// The part about one ELF file's bytes (its beginning up to `file_start.size()`): OK, or why not.
absl::Status InspectElf(const std::string& path, std::string_view file_start);

}  // namespace stallscope::cli
