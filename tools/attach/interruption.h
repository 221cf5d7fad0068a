// Whether a thread that is parked in a system call may be interrupted there.
//
// A stop by ptrace interrupts the call. Most calls are then restarted by the kernel without the program seeing anything
// (it answers one of the ERESTART codes, which only a tracer sees); some come back with EINTR, and those are put back by
// hand: the thread is made to call again. What is left are calls that may have done half of their work (a write), or that
// change the signal mask meanwhile: a thread in one of these is not touched.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <optional>

#include "collector/main/parked_call.h"

namespace stallscope::attach {

// How well a thread in this call suits an interruption: 0 best; nullopt: not at all.
std::optional<int> InterruptionRank(const ParkedCall& call);

// What a stopped thread's return value says of its call.
enum class Interrupted {
  kRestarts,   // the kernel calls again when the thread goes on
  kPutBack,    // EINTR: would be seen by the program unless the call is made again
  kCompleted,  // the call had ended by itself
};
Interrupted HowInterrupted(int64_t return_value);

// Registers with which a thread that is stopped behind an interrupted call makes it again by itself, the way the kernel
// would do it. Of a thread that stands before a call: the same ones.
user_regs_struct CalledAgain(const user_regs_struct& interrupted);

}  // namespace stallscope::attach
