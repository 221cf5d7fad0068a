#include "agent/stacks/stack_rounds.h"

#include <string.h>

#include "agent/entry/lifecycle.h"
#include "agent/hot/clock.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"
#include "agent/stacks/stacks.h"
#include "agent/stacks/thread_extents.h"
#include "agent/stream/arena.h"

namespace stallscope::agent {

constinit StackRounds g_stack_rounds = {};

namespace {

constexpr uint32_t kStateStacksMissing = 14;  // stallscope.v1.State.What

// A thread that is blocked this long is walked from outside; shorter waits are walked by their own thread at their end.
constexpr uint64_t kBlockedNs = 20'000'000;
constexpr uint32_t kMostRoundsFilling = 100;
constexpr uint32_t kMostQuestions = 2 * kMostFrames;  // of one walk

}  // namespace

bool StackRounds::Open() noexcept {
  wire::Header* header = g_header;
  if (stacks() != nullptr) return true;
  if (missing_ || header->stack_capacity == 0) return false;
  const uint32_t cells = StackTable::IndexCells(header->stack_capacity);
  if (stacks_ == nullptr) stacks_ = MapArray<Stacks>(1);
  if (index_ == nullptr) index_ = MapArray<std::atomic<uint64_t>>(cells);
  if (looked_at_ == nullptr) looked_at_ = MapArray<uint64_t>(header->slot_count);
  if (copied_ == nullptr) copied_ = MapArray<uint8_t>(StackCopy::kBytes);
  if (stacks_ == nullptr || index_ == nullptr || looked_at_ == nullptr || copied_ == nullptr || !modules_.Create() ||
      !OpenSharedMemory(header->stacks_offset, header->total_bytes - header->stacks_offset)) {
    return false;
  }
  if (!library_.Open()) {
    missing_ = true;
    ReportState(kStateStacksMissing, 0, "libunwind-x86_64.so.8 cannot be opened (Debian: libunwind8)");
    return false;
  }
  // What a parent of this process left behind means nothing here. (Cleared, not unmapped: after a daemon closed our
  // descriptors, threads may still be looking at it.)
  memset(static_cast<void*>(index_), 0, cells * sizeof(*index_));
  memset(looked_at_, 0, header->slot_count * sizeof(*looked_at_));
  for (StackCopy& copy : stacks_->copies) copy.state.store(StackCopy::kFree, std::memory_order_relaxed);
  stacks_->map.store(0, std::memory_order_relaxed);
  if (stacks_->rules.cells() == nullptr) stacks_->rules.Use(stacks_->rule_cells);
  stacks_->rules.Clear();
  stacks_->table.Use(header, index_);
  open_in_ = header;
  FollowModules();
  const auto self = reinterpret_cast<uint64_t>(&g_stack_rounds);
  if (const Module* module = modules_.Find(self)) stacks_->own = {module->begin, module->end};
  g_stacks.store(stacks_, std::memory_order_release);  // pairs with TakeStack's acquire
  return true;
}

// False while a module goes away: nothing is certain then.
bool StackRounds::FollowModules() noexcept {
  const uint32_t unloads = g_unloads_begun.load(std::memory_order_acquire);
  if (g_unloads_ended.load(std::memory_order_acquire) != unloads) return false;
  if (modules_.Refresh()) {
    stacks_->map.store(0, std::memory_order_release);
    stacks_->rules.Clear();
  }
  if (g_unloads_begun.load(std::memory_order_acquire) != unloads) return false;
  const uint64_t map = static_cast<uint64_t>(modules_.generation()) << 32 | unloads;
  stacks_->map.store(map, std::memory_order_release);  // pairs with TakeStack's acquire
  return true;
}

void StackRounds::Run(uint64_t now_ns) noexcept {
  if ((g_header->control.load(std::memory_order_relaxed) & wire::kControlStacks) == 0 || !Open()) return;
  FollowModules();
  LearnExtents();
  for (StackCopy& copy : stacks_->copies) {
    const uint32_t state = copy.state.load(std::memory_order_acquire);  // pairs with LeaveCopy's release
    if (state == StackCopy::kFull) {
      FinishCopy(&copy);
    } else if (state == StackCopy::kFilling && ++copy.rounds_filling > kMostRoundsFilling) {
      copy.rounds_filling = 0;
      copy.state.store(StackCopy::kFree, std::memory_order_release);
    }
  }
  LookAtBlocked(now_ns);
}

void StackRounds::LearnExtents() noexcept {
  const uint32_t slots = g_header->slots_used.load(std::memory_order_acquire);
  bool wanted = false;
  for (uint32_t index = 0; index < slots && !wanted; ++index) {
    wanted = SlotAt(index)->state.load(std::memory_order_acquire) == static_cast<uint32_t>(wire::SlotState::kLive) &&
             g_threads[index].stack_tid.load(std::memory_order_relaxed) != SlotAt(index)->tid;
  }
  if (wanted) LearnThreadExtents(slots);
}

uint32_t StackRounds::WalkAndLearn(const FramePlace& place, const StackExtent& extent, uint32_t unloads) noexcept {
  uint64_t frames[kMostFrames];
  bool asked_again = false;
  for (uint32_t questions = 0; questions < kMostQuestions; ++questions) {
    const uint64_t map = stacks_->map.load(std::memory_order_relaxed);
    if (UnloadsOf(map) != unloads || map == 0 || g_unloads_begun.load(std::memory_order_acquire) != unloads) return 0;
    const Walk walk = WalkStack(stacks_->rules, place, extent, stacks_->own, frames);
    if (walk.end == Walk::End::kOutermost || walk.end == Walk::End::kCut) {
      return stacks_->table.Intern(frames, walk.count, GenerationOf(map), walk.end == Walk::End::kCut, walk.hash);
    }
    if (walk.end == Walk::End::kBroken) return 0;
    if (modules_.Find(walk.place.ip - 1) == nullptr && !asked_again) {  // loaded since the round began?
      asked_again = true;
      if (!FollowModules()) return 0;
      continue;
    }
    stacks_->rules.Add(walk.place.ip, library_.Learn(modules_, walk.place.ip));
  }
  return 0;
}

void StackRounds::FinishCopy(StackCopy* copy) noexcept {
  const uint32_t provisional = copy->provisional;
  const StackExtent extent = {copy->low, copy->low + copy->bytes,
                              static_cast<int64_t>(reinterpret_cast<uint64_t>(copy->content) - copy->low)};
  const uint32_t id = WalkAndLearn(copy->place, extent, copy->unloads);
  if (id == 0) Count(wire::Counter::kStacksMissed);
  const uint32_t at = provisional % Stacks::kProvisional;
  stacks_->provisional[at] = provisional;
  stacks_->final_number[at] = id;
  copy->rounds_filling = 0;
  copy->state.store(StackCopy::kFree, std::memory_order_release);
}

uint32_t StackRounds::Final(uint32_t stack) noexcept {
  if ((stack & wire::kStackPending) == 0) return stack;
  if (stacks() == nullptr) return 0;
  const uint32_t at = stack % Stacks::kProvisional;
  if (stacks_->provisional[at] != stack) {
    for (StackCopy& copy : stacks_->copies) {
      if (copy.state.load(std::memory_order_acquire) == StackCopy::kFull && copy.provisional == stack)
        FinishCopy(&copy);
    }
  }
  return stacks_->provisional[at] == stack ? stacks_->final_number[at] : 0;
}

void StackRounds::LookAtBlocked(uint64_t now_ns) noexcept {
  const uint32_t slots = g_header->slots_used.load(std::memory_order_acquire);
  for (uint32_t index = 0; index < slots; ++index) {
    if (SlotAt(index)->state.load(std::memory_order_acquire) == static_cast<uint32_t>(wire::SlotState::kLive)) {
      LookAtBlocked(index, now_ns);
    }
  }
}

void StackRounds::LookAtBlocked(uint32_t index, uint64_t now_ns) noexcept {
  wire::CurrentWait* current = &SlotAt(index)->current;
  const ThreadState& thread = g_threads[index];
  const uint32_t version = current->version.load(std::memory_order_acquire);
  const uint64_t begin = __atomic_load_n(&current->begin, __ATOMIC_RELAXED);
  if (version % 2 != 0 || __atomic_load_n(&current->call_plus_one, __ATOMIC_RELAXED) == 0) return;
  if (looked_at_[index] == begin || TicksToNs(g_header, begin) + kBlockedNs > now_ns) return;
  const uint64_t frame_address = __atomic_load_n(&thread.wait_frame, __ATOMIC_RELAXED);
  const uint64_t low = thread.stack_low.load(std::memory_order_relaxed);
  const uint64_t high = thread.stack_high.load(std::memory_order_relaxed);
  if (thread.stack_tid.load(std::memory_order_acquire) != SlotAt(index)->tid || frame_address < low ||
      frame_address + 16 > high || (frame_address & 7) != 0) {
    return;
  }
  const uint32_t unloads = g_unloads_begun.load(std::memory_order_acquire);
  const uint64_t bytes = high - frame_address < StackCopy::kBytes ? high - frame_address : StackCopy::kBytes;
  if (!ReadOwnMemory(frame_address, copied_, bytes)) return;
  std::atomic_thread_fence(std::memory_order_acquire);
  // It went on meanwhile: the copy is of nothing.
  if (current->version.load(std::memory_order_relaxed) != version ||
      __atomic_load_n(&current->call_plus_one, __ATOMIC_RELAXED) == 0) {
    return;
  }
  looked_at_[index] = begin;
  const auto copy_offset = static_cast<int64_t>(reinterpret_cast<uint64_t>(copied_) - frame_address);
  const uint32_t id =
      WalkAndLearn(CallerOf(frame_address, copy_offset), {frame_address, frame_address + bytes, copy_offset}, unloads);
  if (id == 0) return;
  const uint64_t seen = begin << 32 | id;
  __atomic_store_n(reinterpret_cast<uint64_t*>(&current->stack), seen, __ATOMIC_RELAXED);
}

void RunStackRound(uint64_t now_ns) noexcept { g_stack_rounds.Run(now_ns); }

uint32_t FinalStack(uint32_t stack) noexcept { return g_stack_rounds.Final(stack); }

KnownStack StackById(uint32_t id) noexcept {
  Stacks* stacks = g_stack_rounds.stacks();
  if (stacks == nullptr) return {};
  const StackTable::Stack stack = stacks->table.Get(id);
  return {stack.frames, stack.count, stack.generation, stack.cut};
}

}  // namespace stallscope::agent
