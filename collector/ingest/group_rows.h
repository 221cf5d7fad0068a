// One group of a batch as a sequence of events: Next() decodes the next good row. Used by the batch decoder only.
//
// Each class holds the columns of one message of batch.proto and the event that its current row became. Times are
// checked here, in one place: a row outside the limits is skipped and counted.
#pragma once

#include "collector/base/event.h"
#include "collector/ingest/batch_decoder.h"
#include "collector/ingest/column.h"
#include "stallscope/v1/batch.pb.h"

namespace stallscope::ingest {

struct RowContext {
  const ProcessRegistry* registry;
  ThreadIndex thread;
  HostNs earliest, latest;
  DecodeCounts* counts;
};

// The delta chain of a group's begin times.
class TimeChain {
 public:
  TimeChain(const RowContext& context, uint64_t base_ns, const google::protobuf::RepeatedField<int64_t>& deltas)
      : context_(context), deltas_(deltas), at_(base_ns) {}

  // Moves to `row` (each row once, in order). False: the times of the row are impossible. Unsigned arithmetic wraps
  // instead of overflowing; the comparison with the limits catches what wrapped.
  bool Step(int row, uint64_t duration_ns, HostNs* begin, HostNs* end) {
    at_ += static_cast<uint64_t>(deltas_[row]);
    *begin = static_cast<HostNs>(at_);
    if (*begin < context_.earliest || *begin > context_.latest ||
        duration_ns > static_cast<uint64_t>(context_.latest - *begin)) {
      ++context_.counts->bad_time;
      return false;
    }
    *end = *begin + static_cast<HostNs>(duration_ns);
    return true;
  }

  int size() const { return deltas_.size(); }

 private:
  const RowContext& context_;
  Column<int64_t> deltas_;
  uint64_t at_;
};

class WaitRows {
 public:
  WaitRows(const RowContext& context, uint64_t base_ns, const v1::Waits& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        duration_(group.duration_ns()),
        call_(group.call()),
        object_(group.object()),
        result_(group.result()),
        count_(group.count()),
        timeout_(group.timeout_ns()),
        stack_(group.stack()),
        rows_(RowCount({times_.size(), duration_.size(), call_.size(), object_.size(), result_.size(), count_.size(),
                        timeout_.size(), stack_.size()})) {}

  bool Next() {
    while (next_ < rows_) {
      const int row = next_++;
      if (!times_.Step(row, duration_[row], &event_.begin, &event_.end)) continue;
      if (call_[row] > 0xffff) {
        ++context_.counts->unknown_kind;
        continue;
      }
      event_.thread = context_.thread;
      event_.call = static_cast<wire::OsCall>(call_[row]);
      event_.object = context_.registry->Object(object_[row]);
      event_.result = result_[row];
      event_.count = count_[row];
      event_.timeout_ns_plus_one = timeout_[row];
      event_.stack = stack_[row];
      return true;
    }
    return false;
  }

  int rows() const { return rows_; }
  HostNs end() const { return event_.end; }
  HostNs begin() const { return event_.begin; }
  void Send(EventSink* sink) const { sink->OnWait(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint64_t> duration_;
  Column<uint32_t> call_, object_;
  Column<int32_t> result_;
  Column<uint32_t> count_;
  Column<uint64_t> timeout_;
  Column<uint32_t> stack_;
  const int rows_;
  int next_ = 0;
  WaitEvent event_{};
};

class WakeRows {
 public:
  WakeRows(const RowContext& context, uint64_t base_ns, const v1::Wakes& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        call_(group.call()),
        object_(group.object()),
        woken_(group.woken_tid()),
        fd_(group.fd_plus_one()),
        stack_(group.stack()),
        rows_(RowCount({times_.size(), call_.size(), object_.size(), woken_.size(), fd_.size(), stack_.size()})) {}

  bool Next() {
    while (next_ < rows_) {
      const int row = next_++;
      HostNs end;
      if (!times_.Step(row, 0, &event_.at, &end)) continue;
      if (call_[row] > 0xffff) {
        ++context_.counts->unknown_kind;
        continue;
      }
      event_.thread = context_.thread;
      event_.call = static_cast<wire::OsCall>(call_[row]);
      event_.object = context_.registry->Object(object_[row]);
      event_.woken_tid = woken_[row];
      event_.fd_plus_one = fd_[row];
      event_.stack = stack_[row];
      return true;
    }
    return false;
  }

  int rows() const { return rows_; }
  HostNs end() const { return event_.at; }
  HostNs begin() const { return event_.at; }
  void Send(EventSink* sink) const { sink->OnWake(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint32_t> call_, object_, woken_, fd_, stack_;
  const int rows_;
  int next_ = 0;
  WakeEvent event_{};
};

class CudaCallRows {
 public:
  CudaCallRows(const RowContext& context, uint64_t base_ns, const v1::CudaCalls& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        duration_(group.duration_ns()),
        call_(group.call()),
        class_(group.call_class()),
        domain_(group.domain()),
        correlation_(group.correlation_delta()),
        stream_(group.stream()),
        argument_(group.argument()),
        copy_kind_(group.copy_kind()),
        flags_(group.flags()),
        result_(group.result()),
        stack_(group.stack()),
        rows_(RowCount({times_.size(), duration_.size(), call_.size(), class_.size(), domain_.size(),
                        correlation_.size(), stream_.size(), argument_.size(), copy_kind_.size(), flags_.size(),
                        result_.size(), stack_.size()})) {}

  bool Next();

  int rows() const { return rows_; }
  HostNs end() const { return event_.end; }
  HostNs begin() const { return event_.begin; }
  void Send(EventSink* sink) const { sink->OnCudaCall(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint64_t> duration_;
  Column<uint32_t> call_, class_, domain_;
  Column<int32_t> correlation_;
  Column<uint32_t> stream_;
  Column<uint64_t> argument_;
  Column<uint32_t> copy_kind_, flags_;
  Column<int32_t> result_;
  Column<uint32_t> stack_;
  const int rows_;
  int next_ = 0;
  uint32_t correlation_at_ = 0;
  CudaCallEvent event_{};
};

class GpuOpRows {
 public:
  GpuOpRows(const RowContext& context, uint64_t base_ns, const v1::GpuOps& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        duration_(group.duration_ns()),
        kind_(group.kind()),
        correlation_(group.correlation_delta()),
        name_(group.name()),
        stream_(group.stream()),
        device_(group.device()),
        gpu_context_(group.context()),
        argument_(group.argument()),
        copy_kind_(group.copy_kind()),
        memory_(group.memory_kinds()),
        graph_(group.graph()),
        shape_(group.shape()),
        rows_(RowCount({times_.size(), duration_.size(), kind_.size(), correlation_.size(), name_.size(),
                        stream_.size(), device_.size(), gpu_context_.size(), argument_.size(), copy_kind_.size(),
                        memory_.size(), graph_.size(), shape_.size()})) {}

  bool Next();

  int rows() const { return rows_; }
  HostNs end() const { return event_.end; }
  HostNs begin() const { return event_.begin; }
  void Send(EventSink* sink) const { sink->OnGpuOp(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint64_t> duration_;
  Column<uint32_t> kind_;
  Column<int32_t> correlation_;
  Column<uint32_t> name_, stream_, device_, gpu_context_;
  Column<uint64_t> argument_;
  Column<uint32_t> copy_kind_, memory_, graph_, shape_;
  const int rows_;
  int next_ = 0;
  uint32_t correlation_at_ = 0;
  GpuOpEvent event_{};
};

class RangeRows {
 public:
  RangeRows(const RowContext& context, uint64_t base_ns, const v1::Ranges& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        duration_(group.duration_ns()),
        kind_(group.kind()),
        text_(group.text()),
        domain_(group.domain()),
        number_(group.number()),
        range_id_(group.range_id()),
        rows_(RowCount({times_.size(), duration_.size(), kind_.size(), text_.size(), domain_.size(), number_.size(),
                        range_id_.size()})) {}

  bool Next();

  int rows() const { return rows_; }
  HostNs end() const { return event_.end; }
  HostNs begin() const { return event_.begin; }
  void Send(EventSink* sink) const { sink->OnRange(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint64_t> duration_;
  Column<uint32_t> kind_, text_, domain_;
  Column<uint64_t> number_;
  Column<uint32_t> range_id_;
  const int rows_;
  int next_ = 0;
  RangeEvent event_{};
};

class MemoryRows {
 public:
  MemoryRows(const RowContext& context, uint64_t base_ns, const v1::MemoryOps& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        duration_(group.duration_ns()),
        operation_(group.operation()),
        address_(group.address_delta()),
        bytes_(group.bytes()),
        extra_(group.extra()),
        place_(group.place()),
        correlation_(group.correlation_delta()),
        rows_(RowCount({times_.size(), duration_.size(), operation_.size(), address_.size(), bytes_.size(),
                        extra_.size(), place_.size(), correlation_.size()})) {}

  bool Next();

  int rows() const { return rows_; }
  HostNs end() const { return event_.end; }
  void Send(EventSink* sink) const { sink->OnMemory(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint64_t> duration_;
  Column<uint32_t> operation_;
  Column<int64_t> address_;
  Column<uint64_t> bytes_, extra_;
  Column<uint32_t> place_;
  Column<int32_t> correlation_;
  const int rows_;
  int next_ = 0;
  uint64_t address_at_ = 0;
  uint32_t correlation_at_ = 0;
  MemoryEvent event_{};
};

class CodeLoadRows {
 public:
  CodeLoadRows(const RowContext& context, uint64_t base_ns, const v1::CodeLoads& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        duration_(group.duration_ns()),
        kind_(group.kind()),
        tid_(group.tid()),
        correlation_(group.correlation_delta()),
        bytes_(group.bytes()),
        rows_(RowCount(
            {times_.size(), duration_.size(), kind_.size(), tid_.size(), correlation_.size(), bytes_.size()})) {}

  bool Next();

  int rows() const { return rows_; }
  HostNs end() const { return event_.end; }
  void Send(EventSink* sink) const { sink->OnCodeLoad(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint64_t> duration_;
  Column<uint32_t> kind_, tid_;
  Column<int32_t> correlation_;
  Column<uint64_t> bytes_;
  const int rows_;
  int next_ = 0;
  uint32_t correlation_at_ = 0;
  CodeLoadEvent event_{};
};

class StateRows {
 public:
  StateRows(const RowContext& context, uint64_t base_ns, const v1::States& group)
      : context_(context),
        times_(context, base_ns, group.begin_delta_ns()),
        what_(group.what()),
        value_(group.value()),
        text_(group.text()),
        rows_(RowCount({times_.size(), what_.size(), value_.size(), text_.size()})) {}

  bool Next();

  int rows() const { return rows_; }
  HostNs end() const { return event_.at; }
  HostNs begin() const { return event_.at; }
  void Send(EventSink* sink) const { sink->OnState(event_); }

 private:
  const RowContext& context_;
  TimeChain times_;
  Column<uint32_t> what_;
  Column<uint64_t> value_;
  Column<uint32_t> text_;
  const int rows_;
  int next_ = 0;
  StateEvent event_{};
};

}  // namespace stallscope::ingest
