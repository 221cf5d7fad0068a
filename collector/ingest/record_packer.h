// Raw ring records become the same frames that the agent would have sent: an Intern frame with what is new, then a
// Batch.
//
// So records read from memory take the one road that all others take: decoder, analysis, capture. Single thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "collector/ingest/limits.h"
#include "collector/ingest/process_registry.h"
#include "collector/ingest/shm_image.h"

namespace stallscope::v1 {
class Batch;
class Intern;
}  // namespace stallscope::v1

namespace stallscope::ingest {

class RecordPacker {
 public:
  // Both are borrowed from the process that owns the packer.
  RecordPacker(const ProcessRegistry* registry, const ShmImage* image) : registry_(registry), image_(image) {}

  // Packs the records into `batch` (its thread and record numbers are the caller's) and the names they need into
  // `intern`. Record kinds that this version does not know are counted and left out.
  void Pack(const std::vector<RawRecord>& records, const ShmClock& clock, v1::Intern* intern, v1::Batch* batch);

  uint64_t unknown_records() const { return unknown_records_; }

 private:
  uint32_t ObjectId(uint64_t value, v1::Intern* intern);
  uint32_t Text(uint32_t id, v1::Intern* intern);
  uint32_t Shape(uint32_t id, v1::Intern* intern);
  uint32_t Stack(uint32_t id, v1::Intern* intern);

  const ProcessRegistry* const registry_;
  const ShmImage* const image_;
  absl::flat_hash_map<uint64_t, uint32_t> objects_;
  absl::flat_hash_set<uint32_t> shapes_, stacks_;
  uint32_t next_object_ = kFirstCollectorId;
  uint64_t unknown_records_ = 0;
};

}  // namespace stallscope::ingest
