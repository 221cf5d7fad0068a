// The thread that talks to CUPTI after set-up: flushes, switches levels, tries again when another tool held it.
//
// Not the streaming thread: that one has a descriptor table of its own, and CUPTI reaches the driver through
// descriptors of the program. Started by the first CUDA call of a process in which CUPTI was found (such a process has
// CUDA's own threads already); all signals blocked; its hooks pass through. Gone in a forked child, like CUPTI itself.
#pragma once

#include <cstdint>

namespace stallscope::agent {

// Work for the thread. `round` runs every `round_ms` and after WakeKeeper; `final_round` once, when FinishKeeper asks
// for it.
struct KeeperWork {
  void (*round)(uint64_t now_ns) noexcept;
  void (*final_round)() noexcept;
  uint32_t round_ms;
};

// False when the thread could not be created, or when one runs. Again after FinishKeeper.
bool StartKeeper(const KeeperWork& work) noexcept;
void WakeKeeper() noexcept;

// True on the keeper itself.
bool IsKeeper() noexcept;

// Runs a round now and waits for its end, at most `timeout_ns`. False: it took longer.
bool RunKeeperRound(uint64_t timeout_ns) noexcept;

// The process ends: one last round, after which the thread never does anything again. Waits for it, at most
// `timeout_ns`; false: it took longer. Does nothing in a forked child or when the thread was never started.
bool FinishKeeper(uint64_t timeout_ns) noexcept;

}  // namespace stallscope::agent
