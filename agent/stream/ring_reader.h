// Takes records out of one ring without stopping its writer.
//
// Reading is a seqlock per record (proto/wire/shm.h). Indices that were overwritten are counted, one by one; a record
// that its writer has begun and not finished stops the reading until it is complete, or until the caller says not to
// wait any longer.
#pragma once

#include <cstdint>

#include "proto/wire/shm.h"

namespace stallscope::agent {

// A record as copied out: the same bytes without the atomic.
struct PlainRecord {
  uint64_t begin, duration, object, argument, detail;
  uint32_t id, stack;
  uint16_t kind, call;
  int32_t result;
};

struct ReadResult {
  uint64_t first = 0;    // index of the first record in `out`
  uint32_t count = 0;    // records in `out`, consecutive
  uint64_t lost = 0;     // indices before `first` that were overwritten or given up
  bool blocked = false;  // the next index is being written, and later ones exist
};

// Reads up to `capacity` records from index `from`. With `give_up_first` the record at `from` counts as lost if it is
// unfinished.
ReadResult ReadRing(const wire::ThreadSlot& slot, const wire::Record* ring, uint64_t ring_records, uint64_t from,
                    bool give_up_first, PlainRecord* out, uint32_t capacity) noexcept;

}  // namespace stallscope::agent
