// What agent/entry tells agent/stream and agent/os about this process, beyond lifecycle.h.
#pragma once

#include "agent/entry/own_fd.h"

namespace stallscope::agent {

// The memfd in the program's descriptor table.
const OwnFd& SharedMemoryFd() noexcept;

// The agent's state in memory is this process's: false in a vfork child (which borrows it) and in a forked one. One
// system call.
bool IsThisProcess() noexcept;

// GCC's thread sanitizer runs a thread of its own in this process. (It counts the threads made through its
// pthread_create, and so the agent's: clang's, which is linked into the program, never sees that one.)
bool HasSanitizerThread() noexcept;

// A forked child that has not been set up again yet.
bool IsUnbornChild() noexcept;

// The agent gave up or was told to.
bool IsOff() noexcept;

}  // namespace stallscope::agent
