// The agent's library, seen from outside of the process that it is in or is to come into.
#pragma once

#include <cstdint>
#include <string>

#include "proto/wire/attach.h"
#include "tools/attach/target_memory.h"

namespace stallscope::attach {

// What the agent that is in the process already says of itself.
struct LoadedAgent {
  wire::AgentState state = wire::AgentState::kNotSetUp;
  uint64_t attach = 0, detach = 0;  // addresses of its entries; 0: it has none (an older one)
};
LoadedAgent LookAtAgent(int pid, const MappedModule& agent);

// The library must be the same file for the process as for us: another mount namespace or root may hide it.
bool SeesTheSameFile(int pid, const std::string& path);

}  // namespace stallscope::attach
