#include "agent/nvtx/ranges.h"

#include <atomic>

#include "agent/cuda/thread_pool.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

using wire::RangeKind;

constexpr int kDeepest = 30;

struct OpenRange {
  RangeLabel label;
  uint64_t begin_ticks = 0;
};

// Ranges of all domains of a thread share one stack: a pop takes the innermost of its own domain, and what lies above
// it in another domain stays.
struct NvtxThread {
  OpenRange open[kDeepest];
  int depth = 0;
  int beyond = 0;  // pushes that found the stack full; their pops come first
  std::atomic<uint32_t> tid{0};

  void Reset() noexcept { depth = beyond = 0; }
};

constinit ThreadPool<NvtxThread, 1024> g_nvtx_threads;
constinit thread_local NvtxThread* t_nvtx_thread = nullptr;

// Started ranges. `state` 0: free, 1: being filled, else the id of the range that lies here.
struct StartedRange {
  std::atomic<uint64_t> state{0};
  OpenRange range;
};
constexpr uint32_t kStarted = 1024;
constinit StartedRange g_started[kStarted];
constinit std::atomic<uint64_t> g_next_start{0};

void CommitRange(RangeKind kind, const RangeLabel& label, uint64_t begin, uint64_t duration, uint32_t id) noexcept {
  RecordFields fields;
  fields.begin = begin;
  fields.duration = duration;
  fields.object = label.text;
  fields.argument = label.number;
  fields.detail = label.domain;
  fields.id = id;
  fields.kind = wire::RecordKind::kRange;
  fields.call = static_cast<uint16_t>(kind);
  Commit(fields);
}

NvtxThread* Thread() noexcept {
  if (t_nvtx_thread == nullptr) t_nvtx_thread = g_nvtx_threads.Take();
  return t_nvtx_thread;
}

}  // namespace

void RecordMark(const RangeLabel& label) noexcept {
  if (Recording()) CommitRange(RangeKind::kMark, label, Ticks(), 0, 0);
}

int PushRange(const RangeLabel& label) noexcept {
  NvtxThread* thread = Thread();
  if (thread == nullptr) return -1;
  if (thread->depth == kDeepest) {
    Count(wire::Counter::kInternal);
    return kDeepest + thread->beyond++;
  }
  thread->open[thread->depth] = {label, Ticks()};
  return thread->depth++;
}

int PopRange(uint32_t domain) noexcept {
  NvtxThread* thread = t_nvtx_thread;
  if (thread == nullptr || thread->depth == 0) return -1;
  if (thread->beyond > 0) return kDeepest + --thread->beyond;
  int at = thread->depth - 1;
  while (at >= 0 && thread->open[at].label.domain != domain) --at;
  if (at < 0) return -1;
  const OpenRange range = thread->open[at];
  for (int i = at; i + 1 < thread->depth; ++i) thread->open[i] = thread->open[i + 1];
  --thread->depth;
  if (Recording()) CommitRange(RangeKind::kPush, range.label, range.begin_ticks, Ticks() - range.begin_ticks, 0);
  return thread->depth;
}

uint64_t StartRange(const RangeLabel& label) noexcept {
  for (uint32_t tries = 0; tries < kStarted; ++tries) {
    const uint64_t number = g_next_start.fetch_add(1, std::memory_order_relaxed);
    StartedRange& slot = g_started[number % kStarted];
    uint64_t free_state = 0;
    if (!slot.state.compare_exchange_strong(free_state, 1, std::memory_order_acquire)) continue;
    slot.range = {label, Ticks()};
    const uint64_t id = number + 2;
    slot.state.store(id, std::memory_order_release);  // pairs with EndRange, on whatever thread
    return id;
  }
  Count(wire::Counter::kInternal);
  return 0;
}

void EndRange(uint64_t id) noexcept {
  if (id < 2) return;
  StartedRange& slot = g_started[(id - 2) % kStarted];
  uint64_t expected = id;
  if (!slot.state.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
  const OpenRange range = slot.range;
  slot.state.store(0, std::memory_order_release);
  if (!Recording()) return;
  CommitRange(RangeKind::kStartEnd, range.label, range.begin_ticks, Ticks() - range.begin_ticks,
              static_cast<uint32_t>(id));
}

}  // namespace stallscope::agent
