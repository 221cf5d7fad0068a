#include "collector/budget/unknown_late.h"

#include <algorithm>

namespace stallscope {
namespace {

// With more than these open, a launch whose span an earlier one of its stream covers as well is forgotten. Should the
// earlier one's record come after all, the later one's time is charged as if its work had not been.
constexpr size_t kMaxOpen = 1024;

// The first call of a thread that is known to come after a missing launch in the same stream.
struct Resolver {
  ThreadIndex thread = 0;
  uint64_t stream_handle = 0;
  bool found = false;
  HostNs call_begin = 0;  // of the call, when found
  HostNs until = 0;       // the missing work had ended by then; the end of the step when nothing was found
  uint64_t scanned = 0;   // calls of the thread below this number resolve nothing
};

Resolver Resolve(const Timeline& timeline, const MissingLaunch& missing, const StepInterval& step) {
  Resolver resolver{missing.thread, missing.stream_handle, false, 0, step.end, missing.scanned};
  const ThreadTimeline* thread = timeline.Thread(missing.thread);
  if (thread == nullptr) return resolver;
  const SequenceDeque<Call>& calls = thread->calls();
  uint64_t i = std::max(missing.scanned, calls.first());
  if (missing.scanned == 0) i = thread->FirstEndingAtOrAfter(missing.end + 1);
  for (; i < calls.end(); ++i) {
    const Call& call = calls[i];
    if (call.begin < missing.end) continue;
    if (call.begin >= step.end) break;
    const bool waits_for_it = call.call_class == wire::CudaCallClass::kSyncDevice ||
                              (call.object == missing.stream_handle &&
                               (call.call_class == wire::CudaCallClass::kSyncStream || IsBlockingCopy(call)));
    if (call.source == CallSource::kCuda && waits_for_it) {
      resolver.found = true;
      resolver.call_begin = call.begin;
      resolver.until = std::min(step.end, call.end);
      break;
    }
    if (call.has_record && IsLaunch(call) && call.object == missing.stream_handle) {
      const Launch* later = timeline.launches().Find(call.correlation);
      if (later != nullptr && later->records > 0) {
        resolver.found = true;
        resolver.call_begin = call.begin;
        resolver.until = std::min(step.end, later->first_op_begin);
        break;
      }
    }
  }
  resolver.scanned = i;
  return resolver;
}

}  // namespace

void FindUnknownLate(Timeline* timeline, const StepInterval& step, std::vector<TimeSpan>* spans) {
  spans->clear();
  Timeline::MissingLaunches& missing_launches = timeline->missing();
  std::vector<Resolver> resolvers;  // the latest of each thread and stream
  for (auto at = missing_launches.begin(); at != missing_launches.end() && at->second.begin < step.end;) {
    MissingLaunch& missing = at->second;
    TimeSpan span{missing.blocking ? missing.begin : missing.end, missing.end};
    bool later_steps_too = missing.end > step.end, covered = false;
    if (!missing.blocking) {
      auto resolver = std::find_if(resolvers.begin(), resolvers.end(), [&missing](const Resolver& r) {
        return r.thread == missing.thread && r.stream_handle == missing.stream_handle;
      });
      if (resolver == resolvers.end()) {
        resolvers.push_back(Resolve(*timeline, missing, step));
        resolver = std::prev(resolvers.end());
      } else if (resolver->found && resolver->call_begin < missing.end) {
        *resolver = Resolve(*timeline, missing, step);
      } else {
        covered = true;
      }
      span.end = resolver->until;
      later_steps_too = !resolver->found || resolver->until >= step.end;
      // What was skipped for an earlier launch is skipped for this one; its own calls lie further on.
      if (!resolver->found && resolver->scanned > missing.scanned) missing.scanned = resolver->scanned;
    }
    span.begin = std::max(span.begin, step.begin);
    span.end = std::min(span.end, step.end);
    if (span.begin < span.end) spans->push_back(span);
    if (!later_steps_too || (covered && missing_launches.size() > kMaxOpen)) {
      at = missing_launches.erase(at);
    } else {
      ++at;
    }
  }
  std::sort(spans->begin(), spans->end(), [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const TimeSpan& span : *spans) {
    if (kept > 0 && span.begin <= (*spans)[kept - 1].end) {
      (*spans)[kept - 1].end = std::max((*spans)[kept - 1].end, span.end);
    } else {
      (*spans)[kept++] = span;
    }
  }
  spans->resize(kept);
}

}  // namespace stallscope
