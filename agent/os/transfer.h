// The two shapes of a call that moves bytes through a descriptor. `call` makes the real call; inlined, so that nothing
// but the hook's own frame lies between the program and a cancellation.
#pragma once

#include <errno.h>

#include "agent/os/wait_frame.h"

namespace stallscope::agent {

template <typename Call>
__attribute__((always_inline)) inline auto Receive(wire::OsCall name, int fd, Call call) noexcept -> decltype(call()) {
  WaitFrame frame;
  StartWait(&frame, name, wire::FdObject(fd));
  const auto result = call();
  FinishWait(&frame, {.result = result < 0 ? -errno : static_cast<int32_t>(result)});
  return result;
}

// `woken`: the object that this lets go on, 0: none. A sender that blocks waits for nobody whom a record could name.
// A write too short to be recorded as a call may still wake another process, which only the collector can know.
void CommitSilentWrite(const WaitFrame& frame, wire::OsCall name, int fd) noexcept;

// `told`: tells, after success, of whom the call woke by name; true when it has.
template <typename Call, typename Told>
__attribute__((always_inline)) inline auto TransmitTo(wire::OsCall name, int fd, uint64_t woken, Call call,
                                                      Told told) noexcept -> decltype(call()) {
  WakeFrame wake;
  if (__builtin_expect(woken != 0, 0)) StartWakeSlow(&wake, woken);
  WaitFrame frame;
  StartWait(&frame, name, 0);
  const auto result = call();
  const bool recorded =
      FinishWait(&frame, {.result = result < 0 ? -errno : static_cast<int32_t>(result)}, wire::FdObject(fd));
  if (result >= 0) {
    FinishWake(wake, name, static_cast<uint64_t>(fd) + 1);
    if (!told(frame) && !recorded && wake.thread == nullptr && frame.thread != nullptr) {
      CommitSilentWrite(frame, name, fd);
    }
  }
  return result;
}

template <typename Call>
__attribute__((always_inline)) inline auto Transmit(wire::OsCall name, int fd, uint64_t woken, Call call) noexcept
    -> decltype(call()) {
  return TransmitTo(name, fd, woken, call, [](const WaitFrame&) { return false; });
}

}  // namespace stallscope::agent
