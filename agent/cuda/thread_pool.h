// A fixed pool of per-thread states, for what does not fit into a thread-local variable: the agent may use only a few
// bytes of the program's static TLS, so a thread holds a pointer and the state lies here.
//
// A state is taken at a thread's first use and never given back; when all are taken, those whose owner has ended are
// used again. No allocation, no lock; taking one makes a system call, more when the pool is full.
#pragma once

#include <errno.h>

#include <atomic>
#include <cstdint>

#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {

// State: default constant-initialised, with a member `std::atomic<uint32_t> tid` (0: free) and a method Reset().
template <typename State, uint32_t kStates>
class ThreadPool {
 public:
  // nullptr when every state has a living owner (counted).
  __attribute__((noinline, cold)) State* Take() noexcept {
    const auto tid = static_cast<uint32_t>(RawSyscall(SYS_gettid));
    State* taken = nullptr;
    if (used_.load(std::memory_order_relaxed) < kStates) {
      const uint32_t index = used_.fetch_add(1, std::memory_order_relaxed);
      if (index < kStates) {
        taken = &states_[index];
        taken->tid.store(tid, std::memory_order_relaxed);
      }
    }
    // A full pool is searched now and then only: the search asks the kernel about every owner.
    if (taken == nullptr && failures_.fetch_add(1, std::memory_order_relaxed) % 1024 != 0) return nullptr;
    const long pid = taken != nullptr ? 0 : RawSyscall(SYS_getpid);
    for (uint32_t i = 0; taken == nullptr && i < kStates; ++i) {
      uint32_t owner = states_[i].tid.load(std::memory_order_relaxed);
      if (owner == 0 || RawSyscall(SYS_tgkill, pid, owner, 0) != -ESRCH) continue;
      if (states_[i].tid.compare_exchange_strong(owner, tid, std::memory_order_relaxed)) taken = &states_[i];
    }
    if (taken == nullptr) {
      Count(wire::Counter::kSlotsExhausted);
      return nullptr;
    }
    failures_.store(0, std::memory_order_relaxed);
    taken->Reset();
    return taken;
  }

 private:
  State states_[kStates] = {};
  std::atomic<uint32_t> used_{0};
  std::atomic<uint32_t> failures_{0};
};

}  // namespace stallscope::agent
