#include "tools/attach/loaded_agent.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace stallscope::attach {

LoadedAgent LookAtAgent(int pid, const MappedModule& agent) {
  LoadedAgent loaded;
  const auto symbols = ExportedSymbols::Read(pid, agent);
  if (!symbols.ok()) return loaded;
  uint32_t state = 0;
  ReadMemory(pid, symbols->Address("stallscope_agent_state"), &state, sizeof(state));
  loaded.state = static_cast<wire::AgentState>(state);
  loaded.attach = symbols->Address("stallscope_attach");
  loaded.detach = symbols->Address("stallscope_detach");
  return loaded;
}

bool SeesTheSameFile(int pid, const std::string& path) {
  struct stat ours {
  }, theirs{};
  return stat(path.c_str(), &ours) == 0 && stat(absl::StrCat("/proc/", pid, "/root", path).c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

}  // namespace stallscope::attach
