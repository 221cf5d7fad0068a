// Claiming and giving back slots.
//
// A thread's end is found by the streaming thread, which asks the kernel whether the tid still exists
// (agent/stream/reaper.cc). The two other ways were rejected: a start-routine trampoline needs memory of its own for
// each thread and shows up in every stack, and a pthread_key destructor takes one of the program's keys and runs among
// the program's own destructors. So a thread's exit costs nothing here; the price is that a slot stays taken until the
// next look.
#include <sys/prctl.h>

#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

// Where the search for a free slot starts: all slots below were taken when it was last written. Only a hint.
constinit std::atomic<uint32_t> g_first_free{0};

// After the kernel has refused to make a ring accessible, only one claim in so many asks again: the threads without a
// slot come here at each of their hooks.
constexpr uint32_t kAskAgain = 1024;
constinit std::atomic<uint32_t> g_refusals{0};

bool OpenRing(ThreadState* state, uint32_t index) noexcept {
  if (state->ring_open) return true;
  if (g_refusals.load(std::memory_order_relaxed) % kAskAgain != 0) {
    g_refusals.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const uint64_t ring_bytes = uint64_t{g_header->ring_records} * sizeof(wire::Record);
  state->ring_open = OpenSharedMemory(g_header->rings_offset + index * ring_bytes, ring_bytes);
  if (state->ring_open) {
    g_refusals.store(0, std::memory_order_relaxed);
  } else {
    g_refusals.fetch_add(1, std::memory_order_relaxed);
  }
  return state->ring_open;
}

// pthread_self() without the call: glibc's pthread_t is the address of the thread's control block, whose third word it is.
uint64_t OwnHandle() noexcept {
  uint64_t handle;
  __asm__("movq %%fs:16, %0" : "=r"(handle));
  return handle;
}

void FillSlot(ThreadState* state, uint32_t index) noexcept {
  wire::ThreadSlot* slot = SlotAt(index);
  state->slot = slot;
  state->slot_index = index;
  UseSmallRing(state);
  slot->tid = static_cast<uint32_t>(RawSyscall(SYS_gettid));
  slot->start_ticks = Ticks();
  slot->handle = OwnHandle();
  slot->name[0] = '\0';
  RawSyscall(SYS_prctl, PR_GET_NAME, AsArgument(slot->name));
  slot->name[sizeof(slot->name) - 1] = '\0';
  slot->generation = slot->generation + 1;
  state->yield_count = 0;
  state->waiting_count = 0;
  // Pairs with the acquire load of whoever drains: a live slot has its fields.
  slot->state.store(static_cast<uint32_t>(wire::SlotState::kLive), std::memory_order_release);
}

// Which big rings are in use, one bit each (there are at most 32).
constinit std::atomic<uint32_t> g_big_rings_taken{0};

void RaiseSlotsUsed(wire::Header* header, uint32_t count) noexcept {
  uint32_t used = header->slots_used.load(std::memory_order_relaxed);
  while (used < count && !header->slots_used.compare_exchange_weak(used, count, std::memory_order_release)) {
  }
}

}  // namespace

__attribute__((noinline)) ThreadState* ClaimThread() noexcept {
  const uint32_t epoch = g_epoch->epoch.load(std::memory_order_acquire);
  if (epoch == 0 || t_local.claiming != 0 || g_confined.load(std::memory_order_relaxed)) return nullptr;
  t_local.claiming = 1;
  wire::Header* header = g_header;
  ThreadState* threads = g_threads;
  const uint32_t slot_count = header->slot_count;
  ThreadState* state = nullptr;
  for (uint32_t index = g_first_free.load(std::memory_order_relaxed); index < slot_count; ++index) {
    uint32_t free_value = 0;
    if (threads[index].taken.load(std::memory_order_relaxed) == 0 &&
        threads[index].taken.compare_exchange_strong(free_value, 1, std::memory_order_acquire)) {
      if (!OpenRing(&threads[index], index)) {
        threads[index].taken.store(0, std::memory_order_release);
        break;
      }
      state = &threads[index];
      g_first_free.store(index + 1, std::memory_order_relaxed);
      RaiseSlotsUsed(header, index + 1);
      FillSlot(state, index);
      break;
    }
  }
  if (state == nullptr) {
    g_first_free.store(0, std::memory_order_relaxed);
    header->counters[static_cast<uint32_t>(wire::Counter::kSlotsExhausted)].fetch_add(1, std::memory_order_relaxed);
  } else {
    t_local.state = state;
    // The handler of a signal that arrives here must see the state before it trusts the epoch.
    std::atomic_signal_fence(std::memory_order_release);
    t_local.epoch = epoch;
  }
  t_local.claiming = 0;
  if (g_fresh_claims.fetch_add(1, std::memory_order_relaxed) % (slot_count / kClaimsToRing) ==
      slot_count / kClaimsToRing - 1) {
    RingBell();
  }
  return state;
}

void ReleaseThread(ThreadState* state) noexcept {
  wire::ThreadSlot* slot = state->slot;
  for (uint32_t i = 0; i < kMaxWaiterEntries; ++i) {
    // A thread that was cancelled or jumped out of a wait leaves its registration behind.
    if (i < state->waiting_count && state->waiting[i].object != 0) {
      g_waiters[wire::WaiterIndex(state->waiting[i].object, kWaiterCount)].fetch_sub(1, std::memory_order_relaxed);
    }
    state->waiting[i].object = 0;
  }
  state->waiting_count = 0;
  slot->current.call_plus_one = 0;
  slot->head.store(0, std::memory_order_relaxed);
  slot->drained.store(0, std::memory_order_relaxed);
  slot->lost.store(0, std::memory_order_relaxed);
  slot->short_waits.store(0, std::memory_order_relaxed);
  if (slot->big_ring_plus_one != 0) {
    g_big_rings_taken.fetch_and(~(1u << (slot->big_ring_plus_one - 1)), std::memory_order_release);
    slot->big_ring_plus_one = 0;
    UseSmallRing(state);
  }
  slot->state.store(static_cast<uint32_t>(wire::SlotState::kFree), std::memory_order_release);
  state->taken.store(0, std::memory_order_release);
  uint32_t first_free = g_first_free.load(std::memory_order_relaxed);
  if (state->slot_index < first_free) g_first_free.store(state->slot_index, std::memory_order_relaxed);
}

void UseSmallRing(ThreadState* state) noexcept {
  auto* base = reinterpret_cast<uint8_t*>(g_header);
  state->ring = reinterpret_cast<wire::Record*>(base + g_header->rings_offset) +
                static_cast<uint64_t>(state->slot_index) * g_header->ring_records;
  state->ring_mask = g_header->ring_records - 1;
}

bool UseBigRing(uint32_t spared) noexcept {
  ThreadState* state = CurrentThread();
  if (state == nullptr) return false;
  if (state->slot->big_ring_plus_one != 0) return true;
  wire::Header* header = g_header;
  uint32_t index = spared;
  for (;; ++index) {
    if (index >= header->big_ring_count) return false;
    const uint32_t bit = 1u << index;
    if ((g_big_rings_taken.fetch_or(bit, std::memory_order_acquire) & bit) == 0) break;
  }
  const uint64_t ring_bytes = uint64_t{header->big_ring_records} * sizeof(wire::Record);
  if (!OpenSharedMemory(header->big_rings_offset + index * ring_bytes, ring_bytes)) {
    g_big_rings_taken.fetch_and(~(1u << index), std::memory_order_relaxed);
    return false;
  }
  if (state->slot->head.load(std::memory_order_relaxed) != 0) {
    // A ring can only change while it is empty: leave this slot to be drained, and go on in a fresh one. Once it is
    // marked, it may become another thread's at any moment: a signal handler must not find it ours.
    t_local.claiming = 1;
    t_local.epoch = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state->slot->state.store(static_cast<uint32_t>(wire::SlotState::kExited), std::memory_order_release);
    t_local.claiming = 0;
    state = CurrentThread();
    if (state == nullptr) {
      g_big_rings_taken.fetch_and(~(1u << index), std::memory_order_relaxed);
      return false;
    }
  }
  auto* base = reinterpret_cast<uint8_t*>(header);
  state->ring = reinterpret_cast<wire::Record*>(base + header->big_rings_offset) +
                static_cast<uint64_t>(index) * header->big_ring_records;
  state->ring_mask = header->big_ring_records - 1;
  state->slot->big_ring_plus_one = index + 1;
  uint32_t used = header->big_rings_used.load(std::memory_order_relaxed);
  while (used < index + 1 && !header->big_rings_used.compare_exchange_weak(used, index + 1)) {
  }
  return true;
}

void ForgetSlots() noexcept {
  g_big_rings_taken.store(0, std::memory_order_relaxed);
  g_first_free.store(0, std::memory_order_relaxed);
  g_refusals.store(0, std::memory_order_relaxed);
  g_fresh_claims.store(0, std::memory_order_relaxed);
}

}  // namespace stallscope::agent
