// A walk back that goes on in another process: what is asked of that process, and what it answers.
//
// Asked by: the walk back of a process whose wait another one ended (collector/budget). Answered by: the analysis of the
// process that woke it, from its own timeline, on the same thread. Times are host nanoseconds, the same in both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/event.h"
#include "collector/base/line.h"

namespace stallscope {

struct ForeignWalk {
  ThreadIndex thread = 0;    // of the process that is asked, by its own numbers
  HostNs from = 0;           // the walk goes back from here ...
  HostNs until = 0;          // ... to here
  HostNs visible_until = 0;  // calls that ended later are taken as not there
  bool in_flight = true;
  int64_t shortest_idle_ns = 0, skew_margin_ns = 0;
  int hops = 0;  // so far, in all processes together
};

// A stretch of the walk, and the thread that it is charged to ("server[4711] Loop").
struct ForeignCharge {
  Line line;
  HostNs from, to;
  std::string who;
};

}  // namespace stallscope
