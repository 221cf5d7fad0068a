#include "tools/attach/injection.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tools/attach/injected_code.h"
#include "tools/attach/injector.h"
#include "tools/attach/loaded_agent.h"

namespace stallscope::attach {
namespace {

void CopyText(const std::string& text, char* into, size_t bytes) {
  std::memset(into, 0, bytes);
  std::memcpy(into, text.data(), std::min(text.size(), bytes - 1));
}

}  // namespace

absl::StatusOr<Injection> Attach(const TargetProcess& target, const InjectionOptions& options) {
  Injector injector(target, options.limit, "attach to");
  InjectedData data{};
  data.request.bytes = sizeof(data.request);
  data.request.level_plus_one = options.level_plus_one;
  data.request.stacks = options.stacks ? 1 : 0;
  if (options.socket_path.size() >= sizeof(data.request.socket_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket's path is too long: ", options.socket_path,
                                                   ". Give a shorter one: --collector SOCKET"));
  }
  if (options.library.size() >= sizeof(data.path)) {
    return absl::InvalidArgumentError(absl::StrCat("the agent's path is too long: ", options.library,
                                                   ". Install stallscope in a folder with a shorter one."));
  }
  CopyText(options.socket_path, data.request.socket_path, sizeof(data.request.socket_path));
  CopyText("stallscope_attach", data.entry_name, sizeof(data.entry_name));
  CopyText(options.library, data.path, sizeof(data.path));
  if (target.agent != nullptr) {
    const LoadedAgent agent = LookAtAgent(target.pid, *target.agent);
    if (agent.state == wire::AgentState::kRecording) {
      return injector.undertaking().Refuse(
          "it is recorded already. stallscope top shows it; stallscope detach ends that.");
    }
    if (agent.state == wire::AgentState::kOff) {
      return injector.undertaking().Refuse(
          "the agent is in it and has turned itself off. Start it anew under stallscope run.");
    }
    if (agent.attach == 0) return injector.undertaking().Refuse("an older agent is in it. Start it anew.");
    data.entry = agent.attach;
  } else if (!SeesTheSameFile(target.pid, options.library)) {
    return injector.undertaking().Refuse(absl::StrCat("it does not see ", options.library,
                                                      " (a container, or another root). Run stallscope inside of it."));
  }
  if (absl::Status prepared = injector.Prepare(); !prepared.ok()) return prepared;
  const ParkedThreads parked = FindParked(target.pid);
  Injection result;
  if (absl::Status injected = injector.Inject(data, &result); !injected.ok()) return injected;
  result.waits = DescribeStillParked(target.pid, parked);
  return result;
}

absl::StatusOr<Injection> Detach(const TargetProcess& target, absl::Duration limit) {
  Injector injector(target, limit, "detach from");
  const std::string who = injector.undertaking().Who();
  if (target.agent == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing to detach from ", who, ": the agent is not in it. stallscope ps lists what is recorded."));
  }
  const LoadedAgent agent = LookAtAgent(target.pid, *target.agent);
  if (agent.state == wire::AgentState::kDetached) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing to detach from ", who, ": that was done before. stallscope attach records it again."));
  }
  if (agent.state != wire::AgentState::kRecording || agent.detach == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing to detach from ", who, ": the agent does not record in it."));
  }
  InjectedData data{};
  data.request.bytes = sizeof(data.request);
  data.entry = agent.detach;
  if (absl::Status prepared = injector.Prepare(); !prepared.ok()) return prepared;
  Injection result;
  if (absl::Status injected = injector.Inject(data, &result); !injected.ok()) return injected;
  return result;
}

}  // namespace stallscope::attach
