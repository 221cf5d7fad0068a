// When the work that a blocking CUDA call waits for ran: over-wait, idle time inside, unneeded wait (docs/budget.md
// section 2).
//
// Single thread. Reads the timeline, keeps nothing.
#pragma once

#include <cstdint>

#include "collector/base/event.h"
#include "collector/base/line.h"
#include "collector/steps/sync_context.h"
#include "collector/timeline/sequence_deque.h"
#include "collector/timeline/timeline.h"

namespace stallscope {

struct AwaitedWork {
  bool known = false;          // false: no GPU record tells when the awaited work ran
  bool running = false;        // it was still running when the call returned, by the clocks: no over-wait
  HostNs begin = 0;            // of its first operation inside the call; the call's end when there was none
  HostNs end = 0;              // of its last; the call's begin when there was none. Within the call.
  int64_t busy_inside_ns = 0;  // how long any of it ran inside the call
  int64_t unneeded_ns = 0;
  Line last_line = Line::kGpuOther;  // of the operation that ended last
};

class AwaitedWorkFinder {
 public:
  AwaitedWorkFinder(Timeline* timeline, const SequenceDeque<SyncContext>* contexts)
      : timeline_(*timeline), contexts_(*contexts) {}

  // `call` is a blocking CUDA call of `thread`.
  AwaitedWork Find(ThreadIndex thread, const Call& call) const;

 private:
  const SyncContext* ContextOf(const Call& call) const;

  Timeline& timeline_;
  const SequenceDeque<SyncContext>& contexts_;
};

// Zero within the skew margin: the clocks cannot tell.
int64_t OverWait(const Call& call, const AwaitedWork& work, int64_t skew_margin_ns);

}  // namespace stallscope
