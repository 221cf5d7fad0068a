// For tests and fuzzing: a shared memory as the agent makes it, small, in a sealed memfd, filled record by record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/ingest/shm_image.h"

namespace stallscope::ingest {

class ShmBuilder {
 public:
  struct Sizes {
    uint32_t slots = 4, ring_records = 16, big_rings = 1, big_ring_records = 64, string_capacity = 16,
             string_bytes = 4096, stacks = 4, stack_frames = 64;
  };
  ShmBuilder() : ShmBuilder(Sizes()) {}
  explicit ShmBuilder(const Sizes& sizes);
  ~ShmBuilder();
  ShmBuilder(const ShmBuilder&) = delete;
  ShmBuilder& operator=(const ShmBuilder&) = delete;

  wire::Header* header() { return header_; }
  wire::ThreadSlot* slot(uint32_t index);
  wire::Record* record(uint32_t slot, uint64_t index);
  size_t bytes() const { return bytes_; }
  // A duplicate of the memfd, for ShmImage::Map or for sending; the caller closes it.
  int DuplicateFd() const;

  // ns = base_ns + (ticks - base_ticks) * mult >> shift.
  void SetClock(uint64_t base_ticks, uint64_t base_ns, uint64_t mult, uint32_t shift);
  void TakeSlot(uint32_t index, uint32_t tid, uint64_t start_ticks, std::string_view name);
  void Commit(uint32_t slot, const RawRecord& record);
  // Reserves an index and dies before the record is whole.
  void CommitHalf(uint32_t slot, const RawRecord& record);
  uint32_t AddString(std::string_view text);
  wire::StackEntry* stack(uint32_t index);
  void AddStack(const std::vector<uint64_t>& frames, uint32_t generation);
  void Block(uint32_t slot, wire::RecordKind kind, uint16_t call, uint64_t object, uint64_t begin_ticks);

 private:
  int fd_;
  size_t bytes_ = 0;
  wire::Header* header_ = nullptr;
};

}  // namespace stallscope::ingest
