// Whether a running process can be attached to, found out from /proc before anything of it is touched. Each refusal is
// one line that ends in what to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/attach/target_memory.h"

namespace stallscope::attach {

struct TargetProcess {
  int pid = 0;
  std::string name;  // comm
  std::string executable;
  uint32_t uid = 0;
  int threads = 0;
  std::vector<Mapping> mappings;
  std::vector<MappedModule> modules;
  const MappedModule* agent = nullptr;  // libstallscope.so, when it is loaded already; in `modules`
};

// Who asks.
struct Asker {
  uint32_t uid = 0;
  int pid = 0;
  bool may_trace_any = false;  // CAP_SYS_PTRACE
  static Asker OfThisProcess();
};

// `root`: "" or a folder with proc/ below (tests). NotFound: no such process. PermissionDenied: not this user's, or the
// kernel's rules. FailedPrecondition: it can never be attached to as it runs.
absl::StatusOr<TargetProcess> InspectProcess(const std::string& root, int pid, const Asker& asker);

// The threads of it, without those that end meanwhile.
std::vector<int> ThreadsOf(int pid);
std::string ReadProcFile(const std::string& path);  // "" when it cannot be read

}  // namespace stallscope::attach
