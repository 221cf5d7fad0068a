#include "collector/windows/window_sums.h"

#include <algorithm>

namespace stallscope {

SyncSums& WindowSums::Sync(uint32_t name_key) {
  for (SyncSums& sync : syncs) {
    if (sync.name_key == name_key) return sync;
  }
  syncs.push_back({name_key});
  return syncs.back();
}

void WindowSums::Merge(const WindowSums& other) {
  if (other.steps > 0) {
    first_begin = steps == 0 ? other.first_begin : std::min(first_begin, other.first_begin);
    last_end = steps == 0 ? other.last_end : std::max(last_end, other.last_end);
  }
  steps += other.steps;
  tokens += other.tokens;
  wall_ns += other.wall_ns;
  for (size_t i = 0; i < kLineCount; ++i) {
    lines[i] += other.lines[i];
    hidden[i] += other.hidden[i];
    if (other.lines[i] != 0) notes[i].Merge(other.notes[i]);
  }
  events += other.events;
  dropped += other.dropped;
  late += other.late;
  clamped += other.clamped;
  unmatched += other.unmatched;
  mid_step_syncs += other.mid_step_syncs;
  batch.batches += other.batch.batches;
  batch.context_requests += other.batch.context_requests;
  batch.generation_requests += other.batch.generation_requests;
  batch.context_tokens += other.batch.context_tokens;
  batch.generation_tokens += other.batch.generation_tokens;
  for (const SyncSums& theirs : other.syncs) {
    SyncSums& ours = Sync(theirs.name_key);
    ours.calls += theirs.calls;
    ours.total_ns += theirs.total_ns;
    ours.over_wait_ns += theirs.over_wait_ns;
    ours.within_clock_error_ns += theirs.within_clock_error_ns;
    ours.idle_inside_ns += theirs.idle_inside_ns;
    ours.unneeded_ns += theirs.unneeded_ns;
  }
  itl.Merge(other.itl);
}

void WindowSums::Clear() {
  LogHistogram kept_memory = std::move(itl);
  kept_memory.Clear();
  *this = WindowSums{};
  itl = std::move(kept_memory);
}

}  // namespace stallscope
