#include "collector/ingest/record_packer.h"

#include <cstring>

#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

constexpr uint32_t kMaxObjects = 1u << 20;
constexpr size_t kShapeBytes = 6 * sizeof(uint32_t);

// The delta chain of one group: differences to the event before, the first to the base of the batch.
class Deltas {
 public:
  explicit Deltas(HostNs base) : at_(base) {}
  int64_t Step(HostNs begin) {
    const int64_t delta = begin - at_;
    at_ = begin;
    return delta;
  }

 private:
  HostNs at_;
};

class CorrelationDeltas {
 public:
  int32_t Step(uint32_t id) {
    const auto delta = static_cast<int32_t>(id - at_);
    at_ = id;
    return delta;
  }

 private:
  uint32_t at_ = 0;
};

HostNs BeginOf(const RawRecord& record, const ShmClock& clock) {
  if (!wire::HasHostTimes(record.kind)) return clock.ToHostNs(record.begin);
  return static_cast<HostNs>(std::min<uint64_t>(record.begin, kMaxHostNs));
}

}  // namespace

uint32_t RecordPacker::ObjectId(uint64_t value, v1::Intern* intern) {
  if (value == 0) return 0;
  if (const auto known = objects_.find(value); known != objects_.end()) return known->second;
  if (objects_.size() >= kMaxObjects) return 0;
  const uint32_t id = next_object_++;
  objects_[value] = id;
  v1::Intern::Object* object = intern->add_objects();
  object->set_id(id);
  object->set_value(value);
  return id;
}

uint32_t RecordPacker::Text(uint32_t id, v1::Intern* intern) {
  if (id == 0 || registry_->String(id).data() != nullptr) return id;
  for (const v1::Intern::Text& pending : intern->strings()) {
    if (pending.id() == id) return id;
  }
  std::optional<std::string> text = image_->ReadString(id);
  if (!text.has_value()) return 0;
  v1::Intern::Text* string = intern->add_strings();
  string->set_id(id);
  string->set_text(*std::move(text));
  return id;
}

uint32_t RecordPacker::Shape(uint32_t id, v1::Intern* intern) {
  if (id == 0 || shapes_.contains(id)) return id;
  const std::optional<std::string> bytes = image_->ReadString(id);
  if (!bytes.has_value() || bytes->size() != kShapeBytes || shapes_.size() >= kMaxObjects) return 0;
  shapes_.insert(id);
  v1::Intern::Shape* shape = intern->add_shapes();
  shape->set_id(id);
  uint32_t grid_block[6];
  memcpy(grid_block, bytes->data(), kShapeBytes);
  for (const uint32_t size : grid_block) shape->add_grid_block(size);
  return id;
}

// A provisional number means nothing to a reader of the memory.
uint32_t RecordPacker::Stack(uint32_t id, v1::Intern* intern) {
  if (id == 0 || (id & wire::kStackPending) != 0 || id >= kIdLimit) return 0;
  if (stacks_.contains(id) || registry_->Stack(id) != nullptr) return id;
  const std::optional<StackInfo> stack = image_->ReadStack(id);
  if (!stack.has_value()) return id;  // calls from one place are still seen to be that
  stacks_.insert(id);
  v1::Intern::Stack* message = intern->add_stacks();
  message->set_id(id);
  message->mutable_frames()->Add(stack->frames.begin(), stack->frames.end());
  message->set_generation(stack->generation);
  message->set_cut(stack->cut);
  return id;
}

void RecordPacker::Pack(const std::vector<RawRecord>& records, const ShmClock& clock, v1::Intern* intern,
                        v1::Batch* batch) {
  if (records.empty()) return;
  const HostNs base = BeginOf(records.front(), clock);
  batch->set_base_ns(static_cast<uint64_t>(base));
  Deltas waits(base), wakes(base), calls(base), ops(base), ranges(base), memory(base), loads(base);
  CorrelationDeltas call_correlation, op_correlation, memory_correlation, load_correlation;
  uint64_t address = 0;
  for (const RawRecord& record : records) {
    const HostNs begin = BeginOf(record, clock);
    switch (record.kind) {
      case wire::RecordKind::kWait: {
        v1::Waits* group = batch->mutable_waits();
        group->add_begin_delta_ns(waits.Step(begin));
        group->add_duration_ns(clock.DurationNs(record.duration));
        group->add_call(record.call);
        group->add_object(ObjectId(record.object, intern));
        group->add_result(record.result);
        group->add_count(static_cast<uint32_t>(record.detail));
        group->add_timeout_ns(record.argument == wire::kNoTimeout ? 0 : record.argument + 1);
        group->add_stack(Stack(record.stack, intern));
        break;
      }
      case wire::RecordKind::kWake: {
        v1::Wakes* group = batch->mutable_wakes();
        group->add_begin_delta_ns(wakes.Step(begin));
        group->add_call(record.call);
        group->add_object(ObjectId(record.object, intern));
        group->add_woken_tid(static_cast<uint32_t>(record.argument));
        group->add_fd_plus_one(static_cast<uint32_t>(record.detail));
        group->add_stack(Stack(record.stack, intern));
        break;
      }
      case wire::RecordKind::kCudaCall: {
        v1::CudaCalls* group = batch->mutable_cuda_calls();
        const auto call_class = static_cast<wire::CudaCallClass>(record.detail & 0xff);
        group->add_begin_delta_ns(calls.Step(begin));
        group->add_duration_ns(clock.DurationNs(record.duration));
        group->add_call(record.call);
        group->add_call_class(static_cast<uint32_t>(call_class));
        group->add_domain(record.detail >> 8 & 0xff);
        group->add_correlation_delta(call_correlation.Step(record.id));
        group->add_stream(ObjectId(record.object, intern));
        group->add_argument(wire::ArgumentIsObject(call_class) ? ObjectId(record.argument, intern) : record.argument);
        group->add_copy_kind(record.detail >> 16 & 0xff);
        group->add_flags(record.detail >> 24 & 0xff);
        group->add_result(record.result);
        group->add_stack(Stack(record.stack, intern));
        break;
      }
      case wire::RecordKind::kGpuOp: {
        v1::GpuOps* group = batch->mutable_gpu_ops();
        group->add_begin_delta_ns(ops.Step(begin));
        group->add_duration_ns(record.duration);
        group->add_kind(record.call);
        group->add_correlation_delta(op_correlation.Step(record.id));
        group->add_name(Text(static_cast<uint32_t>(record.object), intern));
        group->add_stream(record.stack);
        group->add_device(record.detail & 0xff);
        group->add_context(static_cast<uint32_t>(record.result));
        group->add_argument(record.argument);
        group->add_copy_kind(record.detail >> 8 & 0xff);
        group->add_memory_kinds((record.detail >> 16 & 0xff) << 8 | (record.detail >> 24 & 0xff));
        group->add_graph(record.detail >> 32);
        group->add_shape(Shape(record.object >> 32, intern));
        break;
      }
      case wire::RecordKind::kRange: {
        v1::Ranges* group = batch->mutable_ranges();
        group->add_begin_delta_ns(ranges.Step(begin));
        group->add_duration_ns(clock.DurationNs(record.duration));
        group->add_kind(record.call);
        group->add_text(Text(static_cast<uint32_t>(record.object), intern));
        group->add_domain(Text(static_cast<uint32_t>(record.detail), intern));
        group->add_number(record.argument);
        group->add_range_id(record.id);
        break;
      }
      case wire::RecordKind::kMemory: {
        v1::MemoryOps* group = batch->mutable_memory_ops();
        group->add_begin_delta_ns(memory.Step(begin));
        group->add_duration_ns(record.duration);
        group->add_operation(record.call);
        group->add_address_delta(static_cast<int64_t>(record.object - address));
        address = record.object;
        group->add_bytes(record.argument);
        group->add_extra(record.detail);
        group->add_place(record.stack);
        group->add_correlation_delta(memory_correlation.Step(record.id));
        break;
      }
      case wire::RecordKind::kCodeLoad: {
        v1::CodeLoads* group = batch->mutable_code_loads();
        group->add_begin_delta_ns(loads.Step(begin));
        group->add_duration_ns(record.duration);
        group->add_kind(record.call);
        group->add_tid(record.stack);
        group->add_correlation_delta(load_correlation.Step(record.id));
        group->add_bytes(record.argument);
        break;
      }
      case wire::RecordKind::kNone:
      case wire::RecordKind::kState:
      default:
        ++unknown_records_;
        break;
    }
  }
}

}  // namespace stallscope::ingest
