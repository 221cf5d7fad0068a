// Streamer's work on the thread slots: draining, introducing threads, and finding out which threads are gone.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/hot/clock.h"
#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"
#include "agent/stream/hello.h"
#include "agent/stream/streamer.h"

namespace stallscope::agent {
namespace {

// A record that stays unfinished this long was abandoned (its thread left the writer by longjmp or asynchronous
// cancellation).
constexpr uint64_t kGiveUpNs = 200'000'000;
constexpr uint32_t kMostBatchesARound = 8;
constexpr uint64_t kWorthGivingBack = 1024;  // records

bool IsTaken(uint32_t state) noexcept {
  return state == static_cast<uint32_t>(wire::SlotState::kLive) ||
         state == static_cast<uint32_t>(wire::SlotState::kExited);
}

}  // namespace

void Streamer::IntroduceThread(uint32_t index, const wire::ThreadSlot& slot) noexcept {
  SlotCursor* cursor = &cursors_[index];
  if (cursor->thread_id == 0 || cursor->generation != slot.generation) {
    *cursor = {slot.generation, next_thread_id_++, 0, 0, 0, 0};
  }
  if (cursor->introduced_on == connection_number_) return;
  const uint64_t frame = output_.BeginFrame();
  const uint64_t intern = output_.BeginMessage(kFrameIntern);
  const uint64_t thread = output_.BeginMessage(4);
  output_.Uint(1, cursor->thread_id);
  output_.Uint(2, slot.tid);
  output_.Bytes(3, slot.name, strnlen(slot.name, sizeof(slot.name)));
  output_.Uint(4, TicksToNs(g_header, slot.start_ticks));
  output_.EndMessage(thread);
  output_.EndMessage(intern);
  if (output_.EndFrame(frame)) cursor->introduced_on = connection_number_;
}

uint32_t Streamer::DrainSlot(uint32_t index, uint64_t now_ns) noexcept {
  wire::ThreadSlot* slot = SlotAt(index);
  const uint32_t state = slot->state.load(std::memory_order_acquire);  // pairs with FillSlot's release
  if (!IsTaken(state)) return 0;
  uint64_t from = slot->drained.load(std::memory_order_relaxed);
  uint64_t lost = slot->lost.load(std::memory_order_relaxed);
  const uint64_t head = slot->head.load(std::memory_order_acquire);
  if (from == head) return 0;
  const auto fill = static_cast<uint32_t>((head - from) * 1000 / (g_threads[index].ring_mask + 1));
  if (fill > fullest_ring_) fullest_ring_ = fill;
  IntroduceThread(index, *slot);
  SlotCursor* cursor = &cursors_[index];
  const bool exited = state == static_cast<uint32_t>(wire::SlotState::kExited);
  const ThreadState& thread = g_threads[index];
  uint32_t taken = 0;
  for (uint32_t batch = 0; batch < kMostBatchesARound; ++batch) {
    if (output_.room() < BatchEncoder::kMaxOutputBytes + kMaxStackBytes ||
        publication_count_ == 4 * g_header->slot_count)
      break;
    const bool give_up = exited || (cursor->stuck_at == from + 1 && now_ns - cursor->stuck_since_ns > kGiveUpNs);
    const ReadResult read =
        ReadRing(*slot, thread.ring, thread.ring_mask + 1, from, give_up, records_, BatchEncoder::kMaxRecords);
    uint64_t next = read.first;
    if (read.count != 0) {
      IntroduceStacks(records_, read.count);
      const uint32_t encoded = encoder_.Encode(g_header, cursor->thread_id, read.first, records_, read.count, &output_);
      next += encoded;
      taken += encoded;
    }
    lost += read.lost;
    if (next == from) {
      if (read.blocked && cursor->stuck_at != from + 1) {
        cursor->stuck_at = from + 1;
        cursor->stuck_since_ns = now_ns;
      }
      break;
    }
    from = next;
    publications_[publication_count_++] = {index, from, lost};
    if (read.count < BatchEncoder::kMaxRecords && read.lost == 0) break;
  }
  // A record that its thread is still writing is not waited for.
  if (from < head && cursor->stuck_at != from + 1) round_complete_ = false;
  return taken;
}

void Streamer::Retire(uint32_t index) noexcept {
  wire::ThreadSlot* slot = SlotAt(index);
  ThreadState* thread = &g_threads[index];
  const uint64_t head = slot->head.load(std::memory_order_acquire);
  const uint64_t drained = slot->drained.load(std::memory_order_relaxed);
  retired_events_ += head;
  retired_lost_ += slot->lost.load(std::memory_order_relaxed) + (head - drained);
  retired_short_waits_ += slot->short_waits.load(std::memory_order_relaxed);
  // The next owner's indices begin at 0 again; a record of this one must not pass for one of those.
  const uint64_t used = head < thread->ring_mask + 1 ? head : thread->ring_mask + 1;
  // A ring that was used much gives its pages back as well.
  if (used < kWorthGivingBack || RawSyscall(SYS_madvise, AsArgument(thread->ring),
                                            static_cast<long>(used * sizeof(wire::Record)), MADV_REMOVE) != 0) {
    for (uint64_t i = 0; i < used; ++i) thread->ring[i].sequence.store(0, std::memory_order_relaxed);
  }
  ReleaseThread(thread);
}

void Streamer::Reap() noexcept {
  const auto pid = static_cast<long>(g_header->pid);
  const uint32_t slots = g_header->slots_used.load(std::memory_order_acquire);
  uint32_t taken = 0;
  for (uint32_t index = 0; index < slots; ++index) {
    wire::ThreadSlot* slot = SlotAt(index);
    uint32_t state = slot->state.load(std::memory_order_acquire);
    if (!IsTaken(state)) continue;
    ++taken;
    const uint64_t head = slot->head.load(std::memory_order_relaxed);
    if (state == static_cast<uint32_t>(wire::SlotState::kLive)) {
      // A thread that recorded since the last look lives; only the quiet ones are asked for, and all when slots are
      // scarce.
      SlotCursor* cursor = &cursors_[index];
      const bool moved = cursor->quiet_head != head;
      cursor->quiet_head = head;
      if (moved && !slots_are_scarce_) continue;
      // Any other answer says nothing: a sandbox may refuse the question.
      if (RawSyscall(SYS_tgkill, pid, slot->tid, 0) != -ESRCH) continue;
      slot->state.store(static_cast<uint32_t>(wire::SlotState::kExited), std::memory_order_release);
    }
    // Without a free slot for the living, what a dead thread left behind is given up, and counted. Nothing may be on
    // its way.
    const bool drained = slot->drained.load(std::memory_order_relaxed) == head;
    if (publication_count_ == 0 && (drained || slots_are_exhausted_)) {
      Retire(index);
      --taken;
    }
  }
  slots_are_scarce_ = taken > g_header->slot_count / 2;
  slots_are_exhausted_ = taken > g_header->slot_count / 8 * 7;
}

}  // namespace stallscope::agent
