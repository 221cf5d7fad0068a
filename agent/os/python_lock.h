// Which condition variable is the Python interpreter lock.
//
// CPython waits for the lock in pthread_cond_timedwait on a condition variable that is a member of its runtime object: of
// _PyRuntime itself (up to 3.11), or of the main interpreter inside it (3.12 and later). The symbol is exported by the
// python program or by libpython, with its size. The second condition variable there is the one in which a thread that was
// asked to give the lock up waits until another has taken it; that is the same lock's doing. Tried with 3.7 to 3.13.
// Not seen: sub-interpreters with a lock of their own (3.12 and later, on the heap), builds without the lock.
//
// Written by LookForPython: at set-up, and at a thread's creation until it is found. Read on the program's threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace stallscope::agent {

extern std::atomic<uint64_t> g_python_runtime, g_python_runtime_bytes;

inline bool IsPythonLock(uint64_t condition) noexcept {
  return __builtin_expect(condition - g_python_runtime.load(std::memory_order_relaxed) <
                              g_python_runtime_bytes.load(std::memory_order_relaxed),
                          0);
}

// Asks the loader, so never in a forked child.
void LookForPython() noexcept;

}  // namespace stallscope::agent
