// Reads on where the agent's stream stopped: all rings of a process's shared memory, each from the record after the
// last one received. For a process without a streaming thread while it lives, and for every process after its death.
//
// Hands out proper frames (Intern, Batch) in order; whoever owns the process feeds them to its ProcessStream and to the
// capture before the next one is made, so that the registry always knows what was read. Single thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collector/ingest/process_registry.h"
#include "collector/ingest/record_packer.h"
#include "collector/ingest/shm_image.h"

namespace stallscope::v1 {
class Frame;
}

namespace stallscope::ingest {

class RingDrain {
 public:
  using FrameSink = std::function<void(const v1::Frame&)>;

  // Borrowed from the owner. Frames carry `process`.
  RingDrain(uint32_t process, ProcessRegistry* registry, ShmImage* image, FrameSink sink);

  // Everything committed up to now; returns the number of records. The agent is told how far its rings were read.
  uint64_t DrainLive() { return Drain(false); }
  // False: the last DrainLive left something for the next one.
  bool complete() const { return complete_; }
  // The writers are gone: also takes what stands behind half-written records, which are counted in torn().
  uint64_t DrainFinal() { return Drain(true); }

  uint64_t torn() const { return torn_; }
  uint64_t unknown_records() const { return packer_.unknown_records(); }
  // What the rings ever held and lost, by their own counters.
  struct Totals {
    uint64_t records = 0, short_waits = 0, lost = 0;
  };
  Totals ReadTotals() const;

 private:
  uint64_t Drain(bool final);
  uint64_t DrainSlot(const ShmSlot& slot, const ShmClock& clock, bool final);
  RingEntry* RingOfSlot(const ShmSlot& slot, const ShmClock& clock);

  const uint32_t process_;
  ProcessRegistry* const registry_;
  ShmImage* const image_;
  const FrameSink sink_;
  RecordPacker packer_;
  // By slot: which use of the slot it was, and its ring's id.
  struct KnownSlot {
    uint32_t generation = 0;
    uint32_t ring = 0;
  };
  std::vector<KnownSlot> slots_;
  std::vector<RawRecord> records_;
  uint32_t first_slot_ = 0;  // where a live drain begins
  uint32_t next_thread_ = kFirstCollectorId;
  uint64_t torn_ = 0;
  bool complete_ = true;
};

}  // namespace stallscope::ingest
