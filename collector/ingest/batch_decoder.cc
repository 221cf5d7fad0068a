#include "collector/ingest/batch_decoder.h"

#include <algorithm>
#include <limits>

#include "collector/ingest/column.h"
#include "collector/ingest/group_rows.h"
#include "stallscope/v1/batch.pb.h"

namespace stallscope::ingest {
namespace {

constexpr HostNs kNever = std::numeric_limits<HostNs>::max();

// Sends rows of `group` (the first `skip` of the batch were received before) as long as they end no later than the next
// row of any other group; then says when its next row ends.
template <typename Rows>
void SendRun(Rows* group, HostNs until, HostNs* next_end, HostNs* last_end, uint64_t* skip, uint64_t* events,
             EventSink* sink) {
  do {
    if (*skip > 0) {
      --*skip;
    } else {
      group->Send(sink);
      ++*events;
    }
    *last_end = std::max(*last_end, *next_end);
    *next_end = group->Next() ? group->end() : kNever;
  } while (*next_end <= until && *next_end != kNever);
}

// Sends all rows of a group that has no place in the threads' order.
template <typename Rows>
void SendAll(Rows* group, HostNs* last_end, uint64_t* skip, uint64_t* events, EventSink* sink) {
  while (group->Next()) {
    if (*skip > 0) {
      --*skip;
      continue;
    }
    group->Send(sink);
    ++*events;
    *last_end = std::max(*last_end, group->end());
  }
}

absl::Status BadColumns(const char* group) {
  return absl::InvalidArgumentError(std::string("columns of ") + group + " differ in length");
}

absl::Status DecodeSamples(const v1::Batch& batch, ProcessRegistry* registry, const RowContext& context,
                           EventSink* sink) {
  const v1::ThreadSamples& group = batch.thread_samples();
  TimeChain times(context, batch.base_ns(), group.begin_delta_ns());
  const Column<uint32_t> thread(group.thread());
  const Column<uint64_t> on_cpu(group.on_cpu_ns()), delay(group.run_delay_ns()), voluntary(group.voluntary_switches()),
      involuntary(group.involuntary_switches());
  const int rows =
      RowCount({times.size(), thread.size(), on_cpu.size(), delay.size(), voluntary.size(), involuntary.size()});
  if (rows < 0) return BadColumns("ThreadSamples");
  for (int row = 0; row < rows; ++row) {
    ThreadSampleEvent event{};
    HostNs end;
    if (!times.Step(row, 0, &event.at, &end)) continue;
    if (thread[row] == 0 || thread[row] >= kIdLimit) {
      ++context.counts->unknown_kind;
      continue;
    }
    event.thread = registry->Ring(thread[row])->thread->info.thread;
    event.on_cpu_ns = on_cpu[row];
    event.run_delay_ns = delay[row];
    event.voluntary_switches = voluntary[row];
    event.involuntary_switches = involuntary[row];
    sink->OnThreadSample(event);
    ++context.counts->events;
  }
  return absl::OkStatus();
}

}  // namespace

bool BatchDecoder::Follow(const v1::Batch& batch, RingEntry* ring, uint64_t* skip, EventSink* sink) {
  const uint64_t first = batch.first_record(), count = batch.record_count();
  if (count == 0) return true;
  if (first > ~uint64_t{0} - count) return true;  // nonsense: no conclusion from it
  if (!ring->progress->seen_batch && first > 0) {
    const HostNs age = static_cast<HostNs>(std::min<uint64_t>(batch.base_ns(), kMaxHostNs)) - ring->begin;
    registry_->ContinueProgress(ring, first, BeginTolerance(age));
  }
  const bool first_batch = !ring->progress->seen_batch;
  ring->progress->seen_batch = true;
  if (first_batch && starts_in_the_middle_) ring->progress->next_record = first;
  if (first + count <= ring->progress->next_record) {
    ++counts_.duplicates;
    return false;
  }
  if (first > ring->progress->next_record) {
    LossEvent loss;
    loss.thread = ring->thread->info.thread;
    loss.records = first - ring->progress->next_record;
    loss.from = first_batch ? std::max(ring->begin, earliest_) : ring->progress->last_end;
    loss.to = std::clamp(static_cast<HostNs>(std::min<uint64_t>(batch.base_ns(), kMaxHostNs)), loss.from,
                         std::max(loss.from, latest_));
    counts_.lost_records += loss.records;
    sink->OnLoss(loss);
  }
  // Begun anew after a reconnect, in other pieces. Records and rows correspond one to one but for those that the agent
  // left out.
  if (first < ring->progress->next_record) *skip = ring->progress->next_record - first;
  ring->progress->next_record = first + count;
  return true;
}

absl::Status BatchDecoder::Decode(const v1::Batch& batch, EventSink* sink) {
  RowContext context{registry_, 0, earliest_, latest_, &counts_};
  RingEntry* ring = nullptr;
  if (batch.thread() != 0) {
    if (batch.thread() >= kIdLimit) return absl::InvalidArgumentError("thread number past the limit");
    ring = registry_->Ring(batch.thread());
    context.thread = ring->thread->info.thread;
  }

  const uint64_t base = batch.base_ns();
  WaitRows waits(context, base, batch.waits());
  WakeRows wakes(context, base, batch.wakes());
  CudaCallRows cuda_calls(context, base, batch.cuda_calls()), launches(context, base, batch.launches());
  RangeRows ranges(context, base, batch.ranges());
  StateRows states(context, base, batch.states());
  GpuOpRows gpu_ops(context, base, batch.gpu_ops()), gpu_copies(context, base, batch.gpu_copies());
  MemoryRows memory_ops(context, base, batch.memory_ops());
  CodeLoadRows code_loads(context, base, batch.code_loads());
  if (waits.rows() < 0) return BadColumns("Waits");
  if (wakes.rows() < 0) return BadColumns("Wakes");
  if (cuda_calls.rows() < 0 || launches.rows() < 0) return BadColumns("CudaCalls");
  if (ranges.rows() < 0) return BadColumns("Ranges");
  if (states.rows() < 0) return BadColumns("States");
  if (gpu_ops.rows() < 0 || gpu_copies.rows() < 0) return BadColumns("GpuOps");
  if (memory_ops.rows() < 0) return BadColumns("MemoryOps");
  if (code_loads.rows() < 0) return BadColumns("CodeLoads");

  uint64_t skip = 0;
  if (ring != nullptr && !Follow(batch, ring, &skip, sink)) return absl::OkStatus();

  HostNs last_end = ring == nullptr ? 0 : ring->progress->last_end;
  constexpr int kGroups = 6;
  HostNs next[kGroups] = {waits.Next() ? waits.end() : kNever,           wakes.Next() ? wakes.end() : kNever,
                          cuda_calls.Next() ? cuda_calls.end() : kNever, ranges.Next() ? ranges.end() : kNever,
                          states.Next() ? states.end() : kNever,         launches.Next() ? launches.end() : kNever};
  while (true) {
    const int group = static_cast<int>(std::min_element(next, next + kGroups) - next);
    if (next[group] == kNever) break;
    HostNs until = kNever;
    for (int other = 0; other < kGroups; ++other) {
      if (other != group) until = std::min(until, next[other]);
    }
    uint64_t* const events = &counts_.events;
    switch (group) {
      case 0:
        SendRun(&waits, until, &next[0], &last_end, &skip, events, sink);
        break;
      case 1:
        SendRun(&wakes, until, &next[1], &last_end, &skip, events, sink);
        break;
      case 2:
        SendRun(&cuda_calls, until, &next[2], &last_end, &skip, events, sink);
        break;
      case 3:
        SendRun(&ranges, until, &next[3], &last_end, &skip, events, sink);
        break;
      case 4:
        SendRun(&states, until, &next[4], &last_end, &skip, events, sink);
        break;
      default:
        SendRun(&launches, until, &next[5], &last_end, &skip, events, sink);
        break;
    }
  }
  // Loads first: an operation's arrival may close the step in which its launch loaded code.
  SendAll(&code_loads, &last_end, &skip, &counts_.events, sink);
  SendAll(&gpu_ops, &last_end, &skip, &counts_.events, sink);
  SendAll(&gpu_copies, &last_end, &skip, &counts_.events, sink);
  SendAll(&memory_ops, &last_end, &skip, &counts_.events, sink);
  if (ring != nullptr) ring->progress->last_end = last_end;
  if (batch.has_thread_samples()) return DecodeSamples(batch, registry_, context, sink);
  return absl::OkStatus();
}

}  // namespace stallscope::ingest
