// What every hook needs to know about this process, reachable without a branch on "is the agent set up".
//
// Before set-up, and after the agent turned itself off, the pointers lead to zeroed static memory: no recording, nobody
// waits. Written by agent/entry (set-up, rebirth in a forked child); read by every thread of the program.
//
// Fork detection: the epoch lies in a page with MADV_WIPEONFORK, so it reads 0 in a child of fork, _Fork, a raw fork or
// a clone without CLONE_VM (pthread_atfork handlers run for the first of these only). A vfork child shares the memory,
// keeps the epoch and so keeps recording as the thread that it borrowed, which is suspended meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/wire/shm.h"

namespace stallscope::agent {

inline constexpr uint32_t kWaiterCount = 4096;

// Nonzero while this process is set up; counts set-ups, so a value never comes back in a process.
struct alignas(4096) EpochPage {
  std::atomic<uint32_t> epoch;
};

// Private half of a thread's slot: what readers of the shared memory need not see. Zeroed until the slot's first claim,
// so that thousands of unused ones cost no memory.
struct WaiterEntry {
  uint64_t object;  // 0: none
  uintptr_t frame;  // stack address of the registration; tells an abandoned one (longjmp) from an outer one
};
inline constexpr uint32_t kMaxWaiterEntries = 8;
struct alignas(64) ThreadState {
  wire::ThreadSlot* slot;
  wire::Record* ring;
  uint64_t ring_mask;
  uint32_t slot_index;
  std::atomic<uint32_t> taken;  // 1 from the claim until the reaper gave the slot back
  bool ring_open;               // the slot's own ring can be touched; for good
  uint32_t yield_count;         // collapsed sched_yield calls of the interval that runs now
  uint32_t waiting_count;
  uint64_t yield_begin, yield_end;
  uintptr_t wait_frame;  // stack address of the hook whose wait is published; 0: it cannot be left by a jump
  WaiterEntry waiting[kMaxWaiterEntries];
  // Where the stack of the thread `stack_tid` can be read, by the streaming thread (agent/stacks).
  std::atomic<uint64_t> stack_low, stack_high;
  std::atomic<uint32_t> stack_tid;
  uint32_t stack_sampling;  // recorded waits that were too short for a stack
};

// The agent's whole static TLS, initial-exec. `epoch` equals EpochPage::epoch while `state` is this thread's.
struct ThreadLocal {
  ThreadState* state;
  uint32_t epoch;
  uint16_t inside;    // depth of InsideAgent
  uint16_t claiming;  // a signal handler's hook must not claim a second slot
};
extern constinit thread_local ThreadLocal t_local __attribute__((tls_model("initial-exec")));
static_assert(sizeof(ThreadLocal) <= 64);

extern EpochPage g_no_epoch;
extern wire::Header g_no_header;
extern std::atomic<uint32_t> g_no_waiters[kWaiterCount];

// Hidden: one load each, without asking where they are.
#pragma GCC visibility push(hidden)
extern EpochPage* g_epoch;                // never null
extern wire::Header* g_header;            // never null
extern std::atomic<uint32_t>* g_waiters;  // never null, kWaiterCount entries
extern ThreadState* g_threads;            // Header::slot_count entries, null before set-up
extern bool g_use_tsc;
// The program has taken system calls (seccomp) or the TSC away from itself (agent/os/confinement.cc): from now on none of
// ours on its threads, so no new slot, no set-up of a child, no goodbye. For good; a forked child inherits it.
extern std::atomic<bool> g_confined;
extern std::atomic<uint64_t> g_ticks_per_ns_q20;  // ticks of one ns, times 2^20
#pragma GCC visibility pop

// How a thread whose ring fills up wakes whoever empties it (futex word). The streaming thread silences it where
// there is no collector.
inline constexpr uint32_t kBellWaits = 0, kBellRung = 1, kBellSilenced = 2;
extern std::atomic<uint32_t> g_bell;
// Wakes it, unless it is awake or has nothing to do here.
void RingBell() noexcept;
// Slots claimed since somebody last looked which threads are gone. Every kClaimsToRing-th part of all slots the bell is rung: a
// program may start more threads between two rounds than there are slots.
inline constexpr uint32_t kClaimsToRing = 8;
extern std::atomic<uint32_t> g_fresh_claims;

inline wire::ThreadSlot* SlotAt(uint32_t index) noexcept {
  return reinterpret_cast<wire::ThreadSlot*>(reinterpret_cast<uint8_t*>(g_header) + g_header->slots_offset) + index;
}

// Control word says record, and this is no child in transition.
inline bool ProcessRecords() noexcept {
  return (g_header->control.load(std::memory_order_relaxed) & wire::kControlRecording) != 0 &&
         g_epoch->epoch.load(std::memory_order_relaxed) != 0;
}

// Slow path of CurrentThread: claims a slot. nullptr when there is none or the agent is not set up here.
ThreadState* ClaimThread() noexcept;

// The calling thread's state, nullptr when it cannot record now.
inline ThreadState* CurrentThread() noexcept {
  const uint32_t epoch = g_epoch->epoch.load(std::memory_order_relaxed);
  if (__builtin_expect(epoch == 0 || t_local.inside != 0, 0)) return nullptr;
  if (__builtin_expect(t_local.epoch == epoch, 1)) return t_local.state;
  return ClaimThread();
}

// After a record whose index begins a quarter of the ring: wakes the streaming thread if less than half of the ring is
// free, and takes a big ring if that has not helped in time. errno is kept; system calls only where one of them happens.
void CareForFullRing(ThreadState* state, uint64_t index) noexcept;

// Puts a slot back into use. Called by the streaming thread alone, once the thread is gone and its ring drained or
// given up.
void ReleaseThread(ThreadState* state) noexcept;

// Makes a part of g_header's memory readable and writable (it lies mapped from the start, see shared_memory.h). One
// system call; no descriptor is needed, since the program may have closed ours.
bool OpenSharedMemory(uint64_t offset, uint64_t bytes) noexcept;

// The ring that belongs to the slot itself, in g_header's memory.
void UseSmallRing(ThreadState* state) noexcept;

// Set-up of a fresh shared memory: nothing of it is taken.
void ForgetSlots() noexcept;

}  // namespace stallscope::agent
