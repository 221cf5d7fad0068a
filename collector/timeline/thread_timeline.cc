#include "collector/timeline/thread_timeline.h"

#include <algorithm>

#include "collector/timeline/search_near.h"

namespace stallscope {

uint64_t ThreadTimeline::Add(Call call, bool* clamped) {
  *clamped = false;
  if (call.begin > call.end) {
    call.begin = call.end;
    *clamped = true;
  }
  if (!calls_.empty() && call.end < calls_.back().end) {
    call.end = calls_.back().end;
    *clamped = true;
  }
  const uint64_t number = calls_.end();
  // Calls are stored when they end, so those nested in this one stand directly before it. Each is visited once: from
  // now on the whole group is skipped through inner_span.
  uint64_t first_inner = number;
  while (first_inner > calls_.first()) {
    Call& candidate = calls_[first_inner - 1];
    if (candidate.end <= call.begin) break;
    if (candidate.begin < call.begin) {
      // Calls of one thread nest or follow each other; a partial overlap is rounding of the clocks.
      call.begin = candidate.end;
      *clamped = true;
      break;
    }
    candidate.outer_distance = static_cast<uint32_t>(number - (first_inner - 1));
    first_inner = first_inner - 1 - std::min<uint64_t>(candidate.inner_span, first_inner - 1 - calls_.first());
  }
  call.inner_span = static_cast<uint32_t>(number - first_inner);
  return calls_.Push(call);
}

void ThreadTimeline::AddSample(const ThreadSampleEvent& sample) {
  if (!samples_.empty() && sample.at <= samples_.back().at) return;
  samples_.push_back(sample);
}

uint64_t ThreadTimeline::FirstEndingAtOrAfter(HostNs at) const {
  near_ = FirstNotBefore(calls_.first(), calls_.end(), near_, [&](uint64_t number) { return calls_[number].end < at; });
  return near_;
}

const Call* ThreadTimeline::Outer(uint64_t number, uint64_t* outer_number) const {
  const uint32_t distance = calls_[number].outer_distance;
  if (distance == 0) return nullptr;
  *outer_number = number + distance;
  return &calls_[*outer_number];
}

bool ThreadTimeline::InsideBlockingCuda(uint64_t number) const {
  uint64_t outer_number = number;
  while (const Call* outer = Outer(outer_number, &outer_number)) {
    if (IsBlockingCuda(*outer)) return true;
  }
  return false;
}

ThreadTimeline::Position ThreadTimeline::Before(HostNs at, HostNs visible_until) const {
  Position position;
  const uint64_t next = FirstEndingAtOrAfter(at);
  uint64_t number = next;
  const Call* call = nullptr;
  if (next != calls_.end()) {
    call = &calls_[next];
    // Whatever covers the instant ends no earlier than `next` and began before it, so it lies around `next`.
    while (call != nullptr && call->begin >= at) call = Outer(number, &number);
    if (call != nullptr && call->end > visible_until) call = nullptr;
  }
  const bool has_previous = next > calls_.first();
  if (call == nullptr) {
    position.segment_begin = has_previous ? calls_[next - 1].end : INT64_MIN;
    position.before = has_previous ? &calls_[next - 1] : nullptr;
    position.after = next != calls_.end() ? &calls_[next] : nullptr;
    return position;
  }
  uint64_t outer_number = number;
  bool climbed = false;
  while (const Call* outer = Outer(outer_number, &outer_number)) {
    if (outer->end > visible_until) break;
    if (IsBlockingCuda(*outer)) {
      call = outer;
      number = outer_number;
      climbed = true;
    }
  }
  position.call = call;
  position.number = number;
  position.segment_begin = call->begin;
  if (!climbed && !IsBlockingCuda(*call) && has_previous && next - 1 >= number - call->inner_span) {
    position.segment_begin = std::max(call->begin, calls_[next - 1].end);
  }
  return position;
}

RunShare ThreadTimeline::ShareWhile(HostNs begin, HostNs end, HostNs visible_until) const {
  RunShare share;
  int64_t best_overlap = INT64_MIN;
  for (size_t i = samples_.size(); i-- > 1;) {
    const ThreadSampleEvent& later = samples_[i];
    const ThreadSampleEvent& earlier = samples_[i - 1];
    if (later.at > visible_until) continue;
    const int64_t overlap = std::min(end, later.at) - std::max(begin, earlier.at);
    if (overlap <= best_overlap) break;  // going back in time it only gets worse
    best_overlap = overlap;
    share.on_cpu_ns = later.on_cpu_ns - std::min(later.on_cpu_ns, earlier.on_cpu_ns);
    share.run_delay_ns = later.run_delay_ns - std::min(later.run_delay_ns, earlier.run_delay_ns);
  }
  return share;
}

void ThreadTimeline::DropSamplesAndLosses(HostNs at) {
  // The last sample before `at` is the start of the pair that covers it.
  size_t keep = 0;
  while (keep + 2 < samples_.size() && samples_[keep + 1].at < at) ++keep;
  samples_.erase(samples_.begin(), samples_.begin() + static_cast<ptrdiff_t>(keep));
  losses_.erase(std::remove_if(losses_.begin(), losses_.end(), [at](const TimeSpan& loss) { return loss.end < at; }),
                losses_.end());
}

}  // namespace stallscope
