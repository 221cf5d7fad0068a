#include "agent/stream/batch_encoder.h"

#include <string.h>

#include "agent/hot/clock.h"
#include "agent/hot/string_table.h"
#include "agent/stream/arena.h"
#include "agent/stream/hello.h"

namespace stallscope::agent {
namespace {

constexpr uint64_t kInternBytes = 1u << 20;
constexpr uint64_t kLargestIntroduction = 192u << 10;  // two strings of the longest kind, and small things
constexpr uint64_t kColumnBytes = BatchEncoder::kMaxRecords * 10;
constexpr uint32_t kIdBits = 1u << 17;  // strings and shapes; the table's capacity is below

// Field numbers of stallscope.v1.Intern.
enum InternField : uint32_t { kInternStrings = 1, kInternObjects = 2, kInternShapes = 5 };

bool TestAndSet(uint8_t* bits, uint32_t id) noexcept {
  const auto mask = static_cast<uint8_t>(1u << (id & 7));
  const bool was_set = (bits[id >> 3] & mask) != 0;
  bits[id >> 3] |= mask;
  return was_set;
}

constexpr uint64_t kAnyBit = ~uint64_t{0};

uint64_t Truncated32(int32_t value) noexcept { return static_cast<uint32_t>(ZigZag(value)); }

}  // namespace

BatchEncoder::Group BatchEncoder::GroupOf(const PlainRecord& record) noexcept {
  switch (static_cast<wire::RecordKind>(record.kind)) {
    case wire::RecordKind::kWait:
      return Group::kWaits;
    case wire::RecordKind::kWake:
      return Group::kWakes;
    case wire::RecordKind::kCudaCall:
      return (record.detail & 0xff) == static_cast<uint64_t>(wire::CudaCallClass::kLaunch) ? Group::kLaunches
                                                                                           : Group::kCudaCalls;
    case wire::RecordKind::kGpuOp:
      return record.call == static_cast<uint16_t>(wire::GpuOpKind::kKernel) ||
                     record.call == static_cast<uint16_t>(wire::GpuOpKind::kGraph)
                 ? Group::kGpuOps
                 : Group::kGpuCopies;
    case wire::RecordKind::kRange:
      return Group::kRanges;
    case wire::RecordKind::kMemory:
      return Group::kMemoryOps;
    case wire::RecordKind::kCodeLoad:
      return Group::kCodeLoads;
    default:
      return Group::kNone;
  }
}

bool BatchEncoder::Create() noexcept {
  intern_bytes_ = MapArray<uint8_t>(kInternBytes);
  column_bytes_ = MapArray<uint8_t>(kColumnBytes);
  resolved_ = MapArray<Resolved>(kMaxRecords);
  introduced_strings_ = MapArray<uint8_t>(kIdBits / 8);
  introduced_shapes_ = MapArray<uint8_t>(kIdBits / 8);
  return objects_.Create() && intern_bytes_ != nullptr && column_bytes_ != nullptr && resolved_ != nullptr &&
         introduced_strings_ != nullptr && introduced_shapes_ != nullptr;
}

void BatchEncoder::Destroy() noexcept {
  objects_.Destroy();
  last_object_ = 0;
  last_object_id_ = 0;
  UnmapArray(intern_bytes_, kInternBytes);
  UnmapArray(column_bytes_, kColumnBytes);
  UnmapArray(resolved_, kMaxRecords);
  UnmapArray(introduced_strings_, kIdBits / 8);
  UnmapArray(introduced_shapes_, kIdBits / 8);
}

void BatchEncoder::ForgetIntroductions() noexcept {
  objects_.ForgetIntroductions();
  last_object_ = 0;
  last_object_id_ = 0;
  memset(introduced_strings_, 0, kIdBits / 8);
  memset(introduced_shapes_, 0, kIdBits / 8);
}

uint32_t BatchEncoder::Object(uint64_t value) noexcept {
  if (value == last_object_) return last_object_id_;
  bool is_new = false;
  const uint32_t id = objects_.IdOf(value, &is_new);
  last_object_ = value;
  last_object_id_ = id;
  if (is_new) {
    const uint64_t object = intern_.BeginMessage(kInternObjects);
    intern_.Uint(1, id);
    intern_.Fixed64(2, value);
    intern_.EndMessage(object);
  }
  return id;
}

void BatchEncoder::IntroduceString(const wire::Header* header, uint32_t id) noexcept {
  if (id == 0 || id >= kIdBits || TestAndSet(introduced_strings_, id)) return;
  uint32_t length = 0;
  const char* text = StringBytes(header, id, &length);
  if (text == nullptr) return;
  const uint64_t string = intern_.BeginMessage(kInternStrings);
  intern_.Uint(1, id);
  intern_.Bytes(2, text, length);
  intern_.EndMessage(string);
}

void BatchEncoder::IntroduceShape(const wire::Header* header, uint32_t id) noexcept {
  if (id == 0 || id >= kIdBits || TestAndSet(introduced_shapes_, id)) return;
  uint32_t length = 0;
  const char* bytes = StringBytes(header, id, &length);
  uint32_t grid_block[6];
  if (bytes == nullptr || length != sizeof(grid_block)) return;
  memcpy(grid_block, bytes, sizeof(grid_block));
  const uint64_t shape = intern_.BeginMessage(kInternShapes);
  intern_.Uint(1, id);
  uint8_t packed[6 * 5];
  uint8_t* at = packed;
  for (uint32_t value : grid_block) at = PutVarint(at, value);
  intern_.Bytes(2, packed, static_cast<uint64_t>(at - packed));
  intern_.EndMessage(shape);
}

void BatchEncoder::Resolve(const wire::Header* header, const PlainRecord& record, Resolved* resolved) noexcept {
  *resolved = {};
  resolved->argument = record.argument;
  const auto kind = static_cast<wire::RecordKind>(record.kind);
  if (kind == wire::RecordKind::kGpuOp) {
    resolved->begin_ns = record.begin;
    resolved->duration_ns = record.duration;
    IntroduceString(header, static_cast<uint32_t>(record.object));
    IntroduceShape(header, static_cast<uint32_t>(record.object >> 32));
    return;
  }
  if (kind == wire::RecordKind::kMemory || kind == wire::RecordKind::kCodeLoad) {
    resolved->begin_ns = record.begin;
    resolved->duration_ns = record.duration;
    return;
  }
  resolved->begin_ns = TicksToNs(header, record.begin);
  resolved->duration_ns =
      record.duration == 0 ? 0 : TicksToNs(header, record.begin + record.duration) - resolved->begin_ns;
  switch (kind) {
    case wire::RecordKind::kWait:
      resolved->object = Object(record.object);
      resolved->argument = record.argument == wire::kNoTimeout ? 0 : record.argument + 1;
      break;
    case wire::RecordKind::kWake:
      resolved->object = Object(record.object);
      break;
    case wire::RecordKind::kCudaCall:
      resolved->object = Object(record.object);
      if (wire::ArgumentIsObject(static_cast<wire::CudaCallClass>(record.detail & 0xff))) {
        resolved->argument = Object(record.argument);
      }
      break;
    case wire::RecordKind::kRange:
      IntroduceString(header, static_cast<uint32_t>(record.object));
      IntroduceString(header, static_cast<uint32_t>(record.detail));
      break;
    default:
      break;
  }
}

void BatchEncoder::NoteGroup(uint32_t index) noexcept {
  const PlainRecord& record = records_[index];
  const Resolved& resolved = resolved_[index];
  const auto group = static_cast<uint32_t>(GroupOf(record));
  groups_[index] = static_cast<uint8_t>(group);
  if ((present_ >> group & 1) == 0) {
    present_ |= 1u << group;
    first_[group] = index;
    differences_[group] = {};
    return;
  }
  const PlainRecord& first = records_[first_[group]];
  const Resolved& first_resolved = resolved_[first_[group]];
  Differences* differences = &differences_[group];
  differences->record_object |= record.object ^ first.object;
  differences->object |= resolved.object ^ first_resolved.object;
  differences->argument |= resolved.argument ^ first_resolved.argument;
  differences->detail |= record.detail ^ first.detail;
  differences->duration |= resolved.duration_ns ^ first_resolved.duration_ns;
  differences->call |= static_cast<uint32_t>(record.call ^ first.call);
  differences->result |= static_cast<uint32_t>(record.result ^ first.result);
  differences->stack |= record.stack ^ first.stack;
}

// One packed column over the records of a group; left out when all values are zero, one element when all are the same.
template <typename Value>
void BatchEncoder::Column(uint32_t field, Group group, uint64_t differs, Value value) noexcept {
  uint8_t* at = column_bytes_;
  if (differs == 0 && field != 1) {
    const uint32_t index = first_[static_cast<uint32_t>(group)];
    const uint64_t number = value(records_[index], resolved_[index]);
    if (number == 0) return;
    at = PutVarint(at, number);
    return out_->Bytes(field, column_bytes_, static_cast<uint64_t>(at - column_bytes_));
  }
  const uint8_t* after_first = nullptr;
  uint64_t first = 0;
  bool constant = field != 1;  // the begins tell how many events there are
  for (uint32_t i = 0; i < count_; ++i) {
    if (groups_[i] != static_cast<uint8_t>(group)) continue;
    const uint64_t number = value(records_[i], resolved_[i]);
    at = PutVarint(at, number);
    if (after_first == nullptr) {
      first = number;
      after_first = at;
    }
    constant = constant && number == first;
  }
  if (constant && first == 0) return;
  out_->Bytes(field, column_bytes_, static_cast<uint64_t>((constant ? after_first : at) - column_bytes_));
}

// A column of differences from the event before.
template <typename Value>
void BatchEncoder::DeltaColumn(uint32_t field, Group group, int64_t base, Value value) noexcept {
  int64_t before = base;
  Column(field, group, kAnyBit, [&before, &value](const PlainRecord& record, const Resolved& resolved) {
    const auto now = static_cast<int64_t>(value(record, resolved));
    const int64_t delta = now - before;
    before = now;
    return ZigZag(delta);
  });
}

#define STALLSCOPE_VALUE(expression)                                             \
  [](const PlainRecord& record, const Resolved& resolved) noexcept -> uint64_t { \
    (void)record, (void)resolved;                                                \
    return expression;                                                           \
  }

void BatchEncoder::WriteWaits() noexcept {
  constexpr Group kGroup = Group::kWaits;
  const Differences& differences = differences_[static_cast<uint32_t>(kGroup)];
  DeltaColumn(1, kGroup, static_cast<int64_t>(base_ns_), STALLSCOPE_VALUE(resolved.begin_ns));
  Column(2, kGroup, differences.duration, STALLSCOPE_VALUE(resolved.duration_ns));
  Column(3, kGroup, differences.call, STALLSCOPE_VALUE(record.call));
  Column(4, kGroup, differences.object, STALLSCOPE_VALUE(resolved.object));
  Column(5, kGroup, differences.result, STALLSCOPE_VALUE(Truncated32(record.result)));
  Column(6, kGroup, differences.detail << 32, STALLSCOPE_VALUE(static_cast<uint32_t>(record.detail)));
  Column(7, kGroup, differences.argument, STALLSCOPE_VALUE(resolved.argument));
  Column(8, kGroup, differences.stack, STALLSCOPE_VALUE(record.stack));
}

void BatchEncoder::WriteWakes() noexcept {
  constexpr Group kGroup = Group::kWakes;
  const Differences& differences = differences_[static_cast<uint32_t>(kGroup)];
  DeltaColumn(1, kGroup, static_cast<int64_t>(base_ns_), STALLSCOPE_VALUE(resolved.begin_ns));
  Column(2, kGroup, differences.call, STALLSCOPE_VALUE(record.call));
  Column(3, kGroup, differences.object, STALLSCOPE_VALUE(resolved.object));
  Column(4, kGroup, differences.argument, STALLSCOPE_VALUE(static_cast<uint32_t>(record.argument)));
  Column(5, kGroup, differences.detail << 32, STALLSCOPE_VALUE(static_cast<uint32_t>(record.detail)));
  Column(6, kGroup, differences.stack, STALLSCOPE_VALUE(record.stack));
}

void BatchEncoder::WriteCudaCalls(Group group) noexcept {
  const Differences& differences = differences_[static_cast<uint32_t>(group)];
  DeltaColumn(1, group, static_cast<int64_t>(base_ns_), STALLSCOPE_VALUE(resolved.begin_ns));
  Column(2, group, differences.duration, STALLSCOPE_VALUE(resolved.duration_ns));
  Column(3, group, differences.call, STALLSCOPE_VALUE(record.call));
  Column(4, group, differences.detail & 0xff, STALLSCOPE_VALUE(record.detail & 0xff));
  Column(5, group, differences.detail >> 8 & 0xff, STALLSCOPE_VALUE(record.detail >> 8 & 0xff));
  int32_t before = 0;
  Column(6, group, kAnyBit, [&before](const PlainRecord& record, const Resolved&) noexcept -> uint64_t {
    // Modulo 2^32, as the reader adds them up.
    const auto delta = static_cast<int32_t>(record.id - static_cast<uint32_t>(before));
    before = static_cast<int32_t>(record.id);
    return Truncated32(delta);
  });
  Column(7, group, differences.object, STALLSCOPE_VALUE(resolved.object));
  Column(8, group, differences.argument, STALLSCOPE_VALUE(resolved.argument));
  Column(9, group, differences.detail >> 16 & 0xff, STALLSCOPE_VALUE(record.detail >> 16 & 0xff));
  Column(10, group, differences.detail >> 24 & 0xff, STALLSCOPE_VALUE(record.detail >> 24 & 0xff));
  Column(11, group, differences.result, STALLSCOPE_VALUE(Truncated32(record.result)));
  Column(12, group, differences.stack, STALLSCOPE_VALUE(record.stack));
}

void BatchEncoder::WriteGpuOps(Group group) noexcept {
  const Differences& differences = differences_[static_cast<uint32_t>(group)];
  DeltaColumn(1, group, static_cast<int64_t>(base_ns_), STALLSCOPE_VALUE(resolved.begin_ns));
  Column(2, group, differences.duration, STALLSCOPE_VALUE(resolved.duration_ns));
  Column(3, group, differences.call, STALLSCOPE_VALUE(record.call));
  int32_t before = 0;
  Column(4, group, kAnyBit, [&before](const PlainRecord& record, const Resolved&) noexcept -> uint64_t {
    const auto delta = static_cast<int32_t>(record.id - static_cast<uint32_t>(before));
    before = static_cast<int32_t>(record.id);
    return Truncated32(delta);
  });
  Column(5, group, differences.record_object << 32, STALLSCOPE_VALUE(static_cast<uint32_t>(record.object)));
  Column(6, group, differences.stack, STALLSCOPE_VALUE(record.stack));
  Column(7, group, differences.detail & 0xff, STALLSCOPE_VALUE(record.detail & 0xff));
  Column(8, group, differences.result, STALLSCOPE_VALUE(static_cast<uint32_t>(record.result)));
  Column(9, group, differences.argument, STALLSCOPE_VALUE(record.argument));
  Column(10, group, differences.detail >> 8 & 0xff, STALLSCOPE_VALUE(record.detail >> 8 & 0xff));
  Column(11, group, differences.detail >> 16 & 0xffff,
         STALLSCOPE_VALUE((record.detail >> 16 & 0xff) << 8 | (record.detail >> 24 & 0xff)));
  Column(12, group, differences.detail >> 32, STALLSCOPE_VALUE(record.detail >> 32));
  Column(13, group, differences.record_object >> 32, STALLSCOPE_VALUE(record.object >> 32));
}

void BatchEncoder::WriteRanges() noexcept {
  constexpr Group kGroup = Group::kRanges;
  const Differences& differences = differences_[static_cast<uint32_t>(kGroup)];
  DeltaColumn(1, kGroup, static_cast<int64_t>(base_ns_), STALLSCOPE_VALUE(resolved.begin_ns));
  Column(2, kGroup, differences.duration, STALLSCOPE_VALUE(resolved.duration_ns));
  Column(3, kGroup, differences.call, STALLSCOPE_VALUE(record.call));
  Column(4, kGroup, differences.record_object << 32, STALLSCOPE_VALUE(static_cast<uint32_t>(record.object)));
  Column(5, kGroup, differences.detail << 32, STALLSCOPE_VALUE(static_cast<uint32_t>(record.detail)));
  Column(6, kGroup, differences.argument, STALLSCOPE_VALUE(record.argument));
  Column(7, kGroup, kAnyBit, STALLSCOPE_VALUE(record.id));
}

void BatchEncoder::CorrelationColumn(uint32_t field, Group group) noexcept {
  int32_t before = 0;
  Column(field, group, kAnyBit, [&before](const PlainRecord& record, const Resolved&) noexcept -> uint64_t {
    const auto delta = static_cast<int32_t>(record.id - static_cast<uint32_t>(before));
    before = static_cast<int32_t>(record.id);
    return Truncated32(delta);
  });
}

void BatchEncoder::WriteMemoryOps() noexcept {
  constexpr Group kGroup = Group::kMemoryOps;
  const Differences& differences = differences_[static_cast<uint32_t>(kGroup)];
  DeltaColumn(1, kGroup, static_cast<int64_t>(base_ns_), STALLSCOPE_VALUE(resolved.begin_ns));
  Column(2, kGroup, differences.duration, STALLSCOPE_VALUE(resolved.duration_ns));
  Column(3, kGroup, differences.call, STALLSCOPE_VALUE(record.call));
  uint64_t before = 0;
  Column(4, kGroup, kAnyBit, [&before](const PlainRecord& record, const Resolved&) noexcept -> uint64_t {
    const auto delta = static_cast<int64_t>(record.object - before);  // modulo 2^64
    before = record.object;
    return ZigZag(delta);
  });
  Column(5, kGroup, differences.argument, STALLSCOPE_VALUE(record.argument));
  Column(6, kGroup, differences.detail, STALLSCOPE_VALUE(record.detail));
  Column(7, kGroup, differences.stack, STALLSCOPE_VALUE(record.stack));
  CorrelationColumn(8, kGroup);
}

void BatchEncoder::WriteCodeLoads() noexcept {
  constexpr Group kGroup = Group::kCodeLoads;
  const Differences& differences = differences_[static_cast<uint32_t>(kGroup)];
  DeltaColumn(1, kGroup, static_cast<int64_t>(base_ns_), STALLSCOPE_VALUE(resolved.begin_ns));
  Column(2, kGroup, differences.duration, STALLSCOPE_VALUE(resolved.duration_ns));
  Column(3, kGroup, differences.call, STALLSCOPE_VALUE(record.call));
  Column(4, kGroup, differences.stack, STALLSCOPE_VALUE(record.stack));
  CorrelationColumn(5, kGroup);
  Column(6, kGroup, differences.argument, STALLSCOPE_VALUE(record.argument));
}

void BatchEncoder::WriteGroup(Group group) noexcept {
  const uint64_t message = out_->BeginMessage(static_cast<uint32_t>(group));
  switch (group) {
    case Group::kWaits:
      WriteWaits();
      break;
    case Group::kWakes:
      WriteWakes();
      break;
    case Group::kCudaCalls:
    case Group::kLaunches:
      WriteCudaCalls(group);
      break;
    case Group::kGpuOps:
    case Group::kGpuCopies:
      WriteGpuOps(group);
      break;
    case Group::kRanges:
      WriteRanges();
      break;
    case Group::kMemoryOps:
      WriteMemoryOps();
      break;
    case Group::kCodeLoads:
      WriteCodeLoads();
      break;
    case Group::kNone:
      break;
  }
  out_->EndMessage(message);
}

uint32_t BatchEncoder::Encode(const wire::Header* header, uint32_t thread_id, uint64_t first_index,
                              const PlainRecord* records, uint32_t count, ProtoWriter* out) noexcept {
  records_ = records;
  out_ = out;
  intern_ = ProtoWriter(intern_bytes_, kInternBytes);
  present_ = 0;
  count_ = 0;
  while (count_ < count && count_ < kMaxRecords && intern_.room() >= kLargestIntroduction) {
    Resolve(header, records[count_], &resolved_[count_]);
    NoteGroup(count_);
    ++count_;
  }
  base_ns_ = count_ != 0 ? resolved_[0].begin_ns : 0;

  if (intern_.bytes() != 0) {
    const uint64_t frame = out->BeginFrame();
    out->Bytes(kFrameIntern, intern_.data(), intern_.bytes());
    out->EndFrame(frame);
  }
  const uint64_t frame = out->BeginFrame();
  const uint64_t batch = out->BeginMessage(kFrameBatch);
  out->Uint(1, thread_id);
  out->Uint(2, first_index);
  out->Uint(3, count_);
  out->Uint(4, base_ns_);
  for (uint32_t group = 1; group < kGroups; ++group) {
    if ((present_ >> group & 1) != 0) WriteGroup(static_cast<Group>(group));
  }
  out->EndMessage(batch);
  out->EndFrame(frame);
  return count_;
}

}  // namespace stallscope::agent
