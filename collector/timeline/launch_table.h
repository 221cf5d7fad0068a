// Joins a launching call and the GPU records of its work by correlation id, whichever comes first.
//
// Written by: Timeline. Read by: budget. Single thread. Ids are CUPTI's, unique within a process.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

struct Launch {
  ThreadIndex thread = 0;                               // 0: the call is not known (yet)
  uint32_t expected = 1;                                // records that its work will make
  bool whole_graph = false;                             // a graph traced as one: one record is all
  uint32_t records = 0;                                 // ... that came
  uint32_t device = 0;                                  // of the first record
  uint32_t stream = 0;                                  // CUPTI's number, of the first record
  wire::CopyKind copy_kind = wire::CopyKind::kUnknown;  // of the first record
  uint64_t call_number = 0;
  uint64_t stream_handle = 0;
  uint64_t graph_exec = 0;    // graph launches: the executable graph's handle
  HostNs begin = 0, end = 0;  // of the call
  HostNs first_op_begin = INT64_MAX, last_op_end = INT64_MIN;
};

class LaunchTable {
 public:
  Launch& At(uint32_t correlation) { return launches_[correlation]; }
  const Launch* Find(uint32_t correlation) const {
    if (correlation == 0) return nullptr;
    const auto found = launches_.find(correlation);
    return found == launches_.end() ? nullptr : &found->second;
  }
  void Forget(uint32_t correlation) { launches_.erase(correlation); }
  size_t size() const { return launches_.size(); }

 private:
  absl::flat_hash_map<uint32_t, Launch> launches_;
};

}  // namespace stallscope
