// What a program thread does for a stack (stacks.h).
#include "agent/hot/recorder.h"
#include "agent/stacks/stack_state.h"
#include "agent/stacks/stacks.h"
#include "agent/stacks/word_copy.h"

namespace stallscope::agent {

constinit std::atomic<Stacks*> g_stacks{nullptr};
constinit std::atomic<uint32_t> g_unloads_begun{0}, g_unloads_ended{0};

namespace {

constinit std::atomic<uint64_t> g_threshold_ns{kStackThresholdNs};

bool NothingUnloadedSince(uint32_t unloads) noexcept {
  return g_unloads_begun.load(std::memory_order_acquire) == unloads;
}

// Where the thread's stack can be read from the frame on; an empty extent when the frame lies elsewhere (a signal stack, a
// coroutine) or the streaming thread has not looked at this thread yet.
StackExtent ExtentFrom(const ThreadState& thread, uint64_t frame_address) noexcept {
  // Pairs with the streaming thread's release. Another thread's: the slot changed hands.
  if (thread.stack_tid.load(std::memory_order_acquire) != thread.slot->tid) return {};
  const uint64_t low = thread.stack_low.load(std::memory_order_relaxed);
  const uint64_t high = thread.stack_high.load(std::memory_order_relaxed);
  if (frame_address < low || frame_address + 16 > high || (frame_address & 7) != 0) return {};
  return {frame_address, high, 0};
}

StackCopy* ClaimCopy(Stacks* stacks) noexcept {
  for (StackCopy& copy : stacks->copies) {
    uint32_t free_state = StackCopy::kFree;
    if (copy.state.load(std::memory_order_relaxed) == StackCopy::kFree &&
        copy.state.compare_exchange_strong(free_state, StackCopy::kFilling, std::memory_order_acquire)) {
      return &copy;
    }
  }
  return nullptr;
}

uint32_t LeaveCopy(Stacks* stacks, const FramePlace& place, const StackExtent& extent, uint32_t unloads) noexcept {
  StackCopy* copy = ClaimCopy(stacks);
  if (copy == nullptr) return 0;
  copy->place = place;
  copy->unloads = unloads;
  copy->low = extent.low;
  copy->bytes = extent.high - extent.low < StackCopy::kBytes ? extent.high - extent.low : StackCopy::kBytes;
  CopyWords(copy->content, reinterpret_cast<const void*>(extent.low), copy->bytes / sizeof(uint64_t));
  copy->provisional = wire::kStackPending | stacks->next_provisional.fetch_add(1, std::memory_order_relaxed);
  const uint32_t provisional = copy->provisional;
  copy->state.store(StackCopy::kFull, std::memory_order_release);  // pairs with the streaming thread's acquire
  return provisional;
}

// The streaming thread has walked it while it waited.
uint32_t StackSeenWhileWaiting(const ThreadState& thread, uint64_t begin_ticks) noexcept {
  const uint64_t seen =
      __atomic_load_n(reinterpret_cast<const uint64_t*>(&thread.slot->current.stack), __ATOMIC_RELAXED);
  return static_cast<uint32_t>(seen >> 32) == static_cast<uint32_t>(begin_ticks) ? static_cast<uint32_t>(seen) : 0;
}

}  // namespace

void SetStackThreshold(uint64_t threshold_ns) noexcept {
  g_threshold_ns.store(threshold_ns, std::memory_order_relaxed);
}

void ForgetStacks(bool forked) noexcept {
  g_stacks.store(nullptr, std::memory_order_release);
  // A dlclose that another thread of the parent was in does not end here.
  if (forked) g_unloads_ended.store(g_unloads_begun.load());
}

__attribute__((noinline)) uint32_t TakeStack(ThreadState* thread, uintptr_t frame_address, uint64_t begin_ticks,
                                             uint64_t duration_ticks) noexcept {
  Stacks* stacks = g_stacks.load(std::memory_order_acquire);  // pairs with OpenStacks' release
  if (stacks == nullptr) return 0;
  const uint64_t threshold_ticks =
      (g_threshold_ns.load(std::memory_order_relaxed) * g_ticks_per_ns_q20.load(std::memory_order_relaxed)) >> 20;
  if (duration_ticks < threshold_ticks && ++thread->stack_sampling % kStackSampling != 0) return 0;
  if (const uint32_t seen = StackSeenWhileWaiting(*thread, begin_ticks)) return seen;
  const StackExtent extent = ExtentFrom(*thread, frame_address);
  const uint32_t unloads = g_unloads_begun.load(std::memory_order_acquire);
  if (extent.high == 0 || g_unloads_ended.load(std::memory_order_acquire) != unloads) {
    Count(wire::Counter::kStacksMissed);
    return 0;
  }
  const FramePlace place = CallerOf(frame_address);
  const uint64_t map = stacks->map.load(std::memory_order_acquire);
  if (map != 0 && UnloadsOf(map) == unloads) {
    uint64_t frames[kMostFrames];
    const Walk walk = WalkStack(stacks->rules, place, extent, stacks->own, frames);
    if ((walk.end == Walk::End::kOutermost || walk.end == Walk::End::kCut) && NothingUnloadedSince(unloads) &&
        stacks->map.load(std::memory_order_acquire) == map) {
      return stacks->table.Intern(frames, walk.count, GenerationOf(map), walk.end == Walk::End::kCut, walk.hash);
    }
  }
  const uint32_t provisional = LeaveCopy(stacks, place, extent, unloads);
  if (provisional == 0) Count(wire::Counter::kStacksMissed);
  return provisional;
}

__attribute__((noinline)) uint32_t StackHere(uint64_t begin_ticks, uint64_t duration_ticks) noexcept {
  if ((g_header->control.load(std::memory_order_relaxed) & wire::kControlStacks) == 0) return 0;
  ThreadState* thread = CurrentThread();
  if (thread == nullptr) return 0;
  return TakeStack(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), begin_ticks, duration_ticks);
}

}  // namespace stallscope::agent
