// From one packed Batch to events: the columns of each group row by row, the groups merged by the time at which their
// events ended, so that a thread's events leave in the order in which it recorded them. GPU operations follow as a
// source of their own.
//
// Single thread; allocates nothing per event. A batch whose columns do not fit together is refused whole; an event
// with an impossible time or an unknown kind is left out and counted.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "collector/base/event.h"
#include "collector/ingest/process_registry.h"

namespace stallscope::v1 {
class Batch;
}

namespace stallscope::ingest {

struct DecodeCounts {
  uint64_t events = 0;        // delivered
  uint64_t bad_time = 0;      // left out: before the agent or in the future
  uint64_t unknown_kind = 0;  // left out: a newer agent's
  uint64_t duplicates = 0;    // batches received before (a reconnect sent them again)
  uint64_t lost_records = 0;  // gaps between batches
};

class BatchDecoder {
 public:
  explicit BatchDecoder(ProcessRegistry* registry) : registry_(registry) {}

  // Events that begin before or end after are left out.
  void SetTimeLimits(HostNs earliest, HostNs latest) {
    earliest_ = earliest;
    latest_ = latest;
  }
  // The stream starts in the middle of the process's life (a collector that came later): what came before is no loss of
  // ours.
  void SetStartsInTheMiddle(bool in_the_middle) { starts_in_the_middle_ = in_the_middle; }

  // InvalidArgument: columns of different length.
  absl::Status Decode(const v1::Batch& batch, EventSink* sink);

  const DecodeCounts& counts() const { return counts_; }

 private:
  // Loss and duplicates, from the batch's record numbers; false: all of it was received before. `skip`: how many at its
  // front were.
  bool Follow(const v1::Batch& batch, RingEntry* ring, uint64_t* skip, EventSink* sink);

  ProcessRegistry* const registry_;
  HostNs earliest_ = 0, latest_ = kMaxHostNs;
  bool starts_in_the_middle_ = false;
  DecodeCounts counts_;
};

}  // namespace stallscope::ingest
