// Ring records of one thread to an Intern frame (what is new) and a Batch frame (packed columns), written by hand.
//
// Streaming thread only. Frames are complete or absent. docs/wire.md and batch.proto say what the columns mean.
#pragma once

#include <cstdint>

#include "agent/stream/object_ids.h"
#include "agent/stream/proto_writer.h"
#include "agent/stream/ring_reader.h"

namespace stallscope::agent {

class BatchEncoder {
 public:
  static constexpr uint32_t kMaxRecords = 1024;
  // A frame pair needs at most this much room in the output.
  static constexpr uint64_t kMaxOutputBytes = 1536u << 10;

  bool Create() noexcept;
  void Destroy() noexcept;

  // A new connection: introduce everything again.
  void ForgetIntroductions() noexcept;

  // Encodes up to `count` records and says how many were taken (fewer when many new names fill the Intern frame).
  uint32_t Encode(const wire::Header* header, uint32_t thread_id, uint64_t first_index, const PlainRecord* records,
                  uint32_t count, ProtoWriter* out) noexcept;

 private:
  // Field numbers of Batch's groups.
  enum class Group : uint32_t {
    kNone = 0,
    kWaits = 5,
    kWakes = 6,
    kCudaCalls = 7,
    kGpuOps = 8,
    kRanges = 9,
    kLaunches = 12,
    kGpuCopies = 13,
    kMemoryOps = 14,
    kCodeLoads = 15,
  };
  static Group GroupOf(const PlainRecord& record) noexcept;

  // What a record's references became.
  struct Resolved {
    uint64_t begin_ns, duration_ns, argument;
    uint32_t object;
  };

  // The bits in which a group's records differ from its first one: most columns turn out to be constant without a pass
  // over the records.
  struct Differences {
    uint64_t record_object, object, argument, detail, duration;
    uint32_t call, result, stack;
  };
  static constexpr uint32_t kGroups = 16;

  void Resolve(const wire::Header* header, const PlainRecord& record, Resolved* resolved) noexcept;
  uint32_t Object(uint64_t value) noexcept;
  void IntroduceString(const wire::Header* header, uint32_t id) noexcept;
  void IntroduceShape(const wire::Header* header, uint32_t id) noexcept;

  void NoteGroup(uint32_t index) noexcept;
  // `differs`: not zero when the column's values may differ.
  template <typename Value>
  void Column(uint32_t field, Group group, uint64_t differs, Value value) noexcept;
  template <typename Value>
  void DeltaColumn(uint32_t field, Group group, int64_t base, Value value) noexcept;
  void WriteGroup(Group group) noexcept;
  void WriteWaits() noexcept;
  void WriteWakes() noexcept;
  void WriteCudaCalls(Group group) noexcept;
  void WriteGpuOps(Group group) noexcept;
  void WriteRanges() noexcept;
  void WriteMemoryOps() noexcept;
  void WriteCodeLoads() noexcept;
  void CorrelationColumn(uint32_t field, Group group) noexcept;

  ObjectIds objects_;
  uint64_t last_object_ = 0;  // most records of a thread name the object of the one before
  uint32_t last_object_id_ = 0;
  uint8_t* intern_bytes_ = nullptr;
  uint8_t* column_bytes_ = nullptr;
  Resolved* resolved_ = nullptr;
  uint8_t* introduced_strings_ = nullptr;  // one bit an id
  uint8_t* introduced_shapes_ = nullptr;
  ProtoWriter intern_{nullptr, 0};
  ProtoWriter* out_ = nullptr;

  const PlainRecord* records_ = nullptr;
  uint32_t count_ = 0;
  uint64_t base_ns_ = 0;
  uint32_t present_ = 0;  // one bit a group
  uint32_t first_[kGroups] = {};
  Differences differences_[kGroups] = {};
  uint8_t groups_[kMaxRecords] = {};
};

}  // namespace stallscope::agent
