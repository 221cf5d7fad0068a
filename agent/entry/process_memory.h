// What agent/entry tells agent/stream and agent/os about this process, beyond lifecycle.h.
#pragma once

#include "agent/entry/own_fd.h"

namespace stallscope::agent {

// The memfd in the program's descriptor table.
const OwnFd& SharedMemoryFd() noexcept;

// The agent's state in memory is this process's: false in a vfork child (which borrows it) and in a forked one. One
// system call.
bool IsThisProcess() noexcept;

// A forked child that has not been set up again yet.
bool IsUnbornChild() noexcept;

// The agent gave up or was told to.
bool IsOff() noexcept;

}  // namespace stallscope::agent
