// A process's shared memory (proto/wire/shm.h), read by somebody who does not trust it.
//
// The memfd came over a socket: it is mapped only when it is sealed against shrinking (so that no access can fault),
// its layout is checked once against its size and remembered, and every value is loaded exactly once before it is used.
// The process may be running, dead, or hostile. Single thread. Units: ticks as recorded, converted by Clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/base/event.h"
#include "proto/wire/shm.h"

namespace stallscope::ingest {

// A record's fields, copied out.
struct RawRecord {
  uint64_t begin = 0, duration = 0, object = 0, argument = 0, detail = 0;
  uint32_t id = 0, stack = 0;
  wire::RecordKind kind = wire::RecordKind::kNone;
  uint16_t call = 0;
  int32_t result = 0;
};

// One reading of the clock calibration.
struct ShmClock {
  uint64_t base_ticks = 0, base_ns = 0, mult = 1;
  uint32_t shift = 0;
  // Clamped to [0, kMaxHostNs].
  HostNs ToHostNs(uint64_t ticks) const;
  uint64_t DurationNs(uint64_t ticks) const;
};

struct ShmSlot {
  uint32_t index = 0, tid = 0, generation = 0;
  wire::SlotState state = wire::SlotState::kFree;
  uint64_t start_ticks = 0;
  std::string name;
  uint64_t head = 0, short_waits = 0, lost = 0;
  uint64_t ring_offset = 0;  // checked
  uint32_t ring_records = 0;
};

// What a thread is blocked in now.
struct ShmCurrentWait {
  wire::RecordKind kind = wire::RecordKind::kNone;
  uint16_t call = 0;
  uint64_t object = 0, begin_ticks = 0;
  uint32_t stack = 0;  // number of the stack it was seen on; 0: none yet
};

class ShmImage {
 public:
  // Takes over the descriptor, whatever happens. InvalidArgument says what is wrong with it.
  static absl::StatusOr<std::unique_ptr<ShmImage>> Map(int fd);
  // Over memory that the caller keeps alive and whose size cannot change (tests, fuzzing).
  static absl::StatusOr<std::unique_ptr<ShmImage>> Over(void* memory, size_t bytes, bool writable);
  ~ShmImage();
  ShmImage(const ShmImage&) = delete;
  ShmImage& operator=(const ShmImage&) = delete;

  std::optional<ShmClock> ReadClock() const;  // nullopt: it was changing all the time
  uint32_t slots_used() const;                // at most the layout's slot count
  // False for a slot that is free or makes no sense.
  bool ReadSlot(uint32_t index, ShmSlot* slot) const;
  // What the slot's thread is blocked in; nullopt when it is not.
  std::optional<ShmCurrentWait> ReadCurrentWait(uint32_t index) const;
  // nullopt when there is no such string or it is longer than 64 KiB.
  std::optional<std::string> ReadString(uint32_t id) const;
  // nullopt when there is no such stack, it is being written, or it is longer than CodeMap::kMaxFrames.
  std::optional<StackInfo> ReadStack(uint32_t id) const;
  // True once the agent's streaming thread has run: from then on it drains the rings.
  bool has_streaming_thread() const;
  uint64_t counter(wire::Counter counter) const;
  uint64_t agent_cpu_ns() const;
  bool takes_stacks() const;  // level stacks is on

  struct RingRead {
    uint64_t next = 0;      // where to go on
    uint64_t consumed = 0;  // records committed or given up, after `first`
    uint64_t first = 0;     // the first index looked at; above `from` when older ones were overwritten
    uint64_t torn = 0;      // half-written, given up
  };
  // Appends the committed records from index `from` on, at most `limit`. `final`: the writer will not come back, so
  // half-written records are given up; else reading stops before one.
  RingRead ReadRing(const ShmSlot& slot, uint64_t from, size_t limit, bool final,
                    std::vector<RawRecord>* records) const;

  // Tells the agent how far the ring was read, and how much was overwritten before. Nothing when the mapping is
  // read-only.
  void WriteDrained(const ShmSlot& slot, uint64_t drained, uint64_t newly_lost);

 private:
  ShmImage(std::byte* memory, size_t bytes, bool writable, bool owned);
  absl::Status CheckLayout();
  const wire::Header* header() const { return reinterpret_cast<const wire::Header*>(memory_); }
  wire::ThreadSlot* slot_at(uint32_t index) const;

  std::byte* const memory_;
  const size_t bytes_;
  const bool writable_, owned_;
  // The layout as checked; the header may change after the check.
  uint64_t slots_offset_ = 0, strings_offset_ = 0, rings_offset_ = 0, big_rings_offset_ = 0;
  uint32_t slot_count_ = 0, string_capacity_ = 0, string_bytes_ = 0, ring_records_ = 0, big_ring_records_ = 0,
           big_ring_count_ = 0;
  uint64_t stacks_offset_ = 0;
  uint32_t stack_capacity_ = 0, stack_frame_capacity_ = 0;  // 0: an agent without stacks
};

}  // namespace stallscope::ingest
