// How the agent's hooks record: the interface between agent/hot and the folders that hook (os, cuda, cupti, nvtx,
// engine).
//
// Everything here runs on the program's threads. Contract of this folder: noexcept, errno kept, no malloc, no lock, no
// system call once the thread has its slot (taking one for the first time makes its ring accessible) but to
// wake the streaming thread or take a big ring when its own fills up, async-signal-safe. When the agent is not set up, off, or in a forked child that has not been set up again, every
// function is a cheap no-op.
#pragma once

#include <cstdint>

#include "proto/wire/shm.h"

namespace stallscope::agent {

// Ticks of the stream's clock: TSC where invariant, else CLOCK_MONOTONIC ns. About 10 ns.
uint64_t Ticks() noexcept;

// True when this thread may record now: agent set up, recording on, not a forked child in transition, not inside the
// agent itself. One load of the wipe-on-fork page and one of the control word.
bool Recording() noexcept;

// Finished waits shorter than this are only counted (ticks, converted from Header::wait_threshold_ns by the streaming
// thread).
uint64_t WaitThresholdTicks() noexcept;

// Commits one record to the calling thread's ring. Fields of `record` but sequence are copied.
struct RecordFields {
  uint64_t begin = 0, duration = 0, object = 0, argument = 0, detail = 0;
  uint32_t id = 0, stack = 0;
  wire::RecordKind kind = wire::RecordKind::kNone;
  uint16_t call = 0;
  int32_t result = 0;
};
void Commit(const RecordFields& record) noexcept;

// The stack of a blocking call that has just ended here, for RecordFields::stack (agent/stacks/stacks.h); 0 where stacks are
// off or it was short.
uint32_t StackHere(uint64_t begin_ticks, uint64_t duration_ticks) noexcept;

// A wait that ended under the threshold.
void CountShortWait() noexcept;

// The current-wait slot: what this thread is blocked in. Nested calls: the inner replaces, the outer is restored by the
// returned value. Never held across a cancellation without effect: a cancelled thread's slot is cleared when it exits.
struct SavedWait {
  uint16_t kind = 0, call_plus_one = 0;
  uint64_t object = 0, begin = 0;
  uintptr_t frame = 0;
};
SavedWait BeginWait(wire::RecordKind kind, uint16_t call, uint64_t object, uint64_t begin_ticks) noexcept;
void EndWait(const SavedWait& saved) noexcept;

// The waiters table (proto/wire/shm.h). AddWaiter before blocking, RemoveWaiter after; SomebodyWaits is one load.
void AddWaiter(uint64_t object) noexcept;
void RemoveWaiter(uint64_t object) noexcept;
bool SomebodyWaits(uint64_t object) noexcept;

// The calling thread will carry GPU records (CUPTI's worker): give it a big ring. False when none is left. `spared`: of all
// big rings, those that are not to be taken.
bool UseBigRing(uint32_t spared = 0) noexcept;

// Interns a string into the shared table; may take the agent's string lock, so never from a hook on the program's hot
// path: only from CUPTI's worker, set-up and first-sight paths. Returns 0 when the table is full (counted). Same bytes,
// same id.
uint32_t InternString(const char* text, uint32_t length) noexcept;
// A launch shape as a string of six uint32 (24 bytes) in the same table.
uint32_t InternShape(const uint32_t grid_block[6]) noexcept;

// Adds to a cumulative counter in the header.
void Count(wire::Counter counter, uint64_t by = 1) noexcept;

// Marks the calling thread as the agent's own: its hooks pass straight through for as long as the guard lives.
class InsideAgent {
 public:
  InsideAgent() noexcept;
  ~InsideAgent() noexcept;
  InsideAgent(const InsideAgent&) = delete;
  InsideAgent& operator=(const InsideAgent&) = delete;
};

// The shared header, nullptr while the agent is not set up.
wire::Header* SharedHeader() noexcept;

// Clock for records whose begin is in host ns (GPU ops), and for timestamp callbacks: CLOCK_MONOTONIC through the vDSO.
uint64_t MonotonicNs() noexcept;

}  // namespace stallscope::agent
