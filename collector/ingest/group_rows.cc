#include "collector/ingest/group_rows.h"

namespace stallscope::ingest {
namespace {

wire::CopyKind ToCopyKind(uint32_t value) {
  return value > 0xff ? wire::CopyKind::kUnknown : static_cast<wire::CopyKind>(value);
}

}  // namespace

bool CudaCallRows::Next() {
  while (next_ < rows_) {
    const int row = next_++;
    correlation_at_ += static_cast<uint32_t>(correlation_[row]);
    if (!times_.Step(row, duration_[row], &event_.begin, &event_.end)) continue;
    if (call_[row] > 0xffff || domain_[row] > 1) {
      ++context_.counts->unknown_kind;
      continue;
    }
    event_.thread = context_.thread;
    event_.call = static_cast<uint16_t>(call_[row]);
    event_.domain = static_cast<wire::CudaDomain>(domain_[row]);
    // A class of a newer agent means nothing special to this collector.
    event_.call_class = class_[row] > static_cast<uint32_t>(wire::CudaCallClass::kHostFunc)
                            ? wire::CudaCallClass::kOther
                            : static_cast<wire::CudaCallClass>(class_[row]);
    event_.copy_kind = ToCopyKind(copy_kind_[row]);
    event_.flags = static_cast<uint8_t>(flags_[row]);
    event_.correlation = correlation_at_;
    event_.result = result_[row];
    event_.stream = context_.registry->Object(stream_[row]);
    event_.argument = argument_[row];
    if (wire::ArgumentIsObject(event_.call_class)) {
      event_.argument =
          event_.argument < kIdLimit ? context_.registry->Object(static_cast<uint32_t>(event_.argument)) : 0;
    }
    event_.stack = stack_[row];
    return true;
  }
  return false;
}

bool GpuOpRows::Next() {
  while (next_ < rows_) {
    const int row = next_++;
    correlation_at_ += static_cast<uint32_t>(correlation_[row]);
    if (!times_.Step(row, duration_[row], &event_.begin, &event_.end)) continue;
    if (kind_[row] < static_cast<uint32_t>(wire::GpuOpKind::kKernel) ||
        kind_[row] > static_cast<uint32_t>(wire::GpuOpKind::kSync)) {
      ++context_.counts->unknown_kind;
      continue;
    }
    event_.kind = static_cast<wire::GpuOpKind>(kind_[row]);
    event_.copy_kind = ToCopyKind(copy_kind_[row]);
    event_.source_memory = static_cast<uint8_t>(memory_[row] >> 8);
    event_.destination_memory = static_cast<uint8_t>(memory_[row]);
    event_.device = device_[row];
    event_.context = gpu_context_[row];
    event_.stream = stream_[row];
    event_.correlation = correlation_at_;
    event_.graph = graph_[row];
    event_.name = name_[row];
    event_.shape = shape_[row];
    event_.argument = argument_[row];
    return true;
  }
  return false;
}

bool RangeRows::Next() {
  while (next_ < rows_) {
    const int row = next_++;
    if (!times_.Step(row, duration_[row], &event_.begin, &event_.end)) continue;
    if (kind_[row] > static_cast<uint32_t>(wire::RangeKind::kEngineToken)) {
      ++context_.counts->unknown_kind;
      continue;
    }
    event_.thread = context_.thread;
    event_.kind = static_cast<wire::RangeKind>(kind_[row]);
    event_.text = text_[row];
    event_.domain = domain_[row];
    event_.number = number_[row];
    event_.range_id = range_id_[row];
    return true;
  }
  return false;
}

bool MemoryRows::Next() {
  while (next_ < rows_) {
    const int row = next_++;
    address_at_ += static_cast<uint64_t>(address_[row]);
    correlation_at_ += static_cast<uint32_t>(correlation_[row]);
    if (!times_.Step(row, duration_[row], &event_.begin, &event_.end)) continue;
    if (operation_[row] < static_cast<uint32_t>(wire::MemoryOperation::kAllocate) ||
        operation_[row] > static_cast<uint32_t>(wire::MemoryOperation::kRemoteMap)) {
      ++context_.counts->unknown_kind;
      continue;
    }
    event_.operation = static_cast<wire::MemoryOperation>(operation_[row]);
    event_.address = address_at_;
    event_.bytes = bytes_[row];
    event_.extra = extra_[row];
    event_.memory_kind = static_cast<uint8_t>(place_[row]);
    event_.device = static_cast<uint8_t>(place_[row] >> 8);
    event_.flags = static_cast<uint8_t>(place_[row] >> 16);
    event_.correlation = correlation_at_;
    return true;
  }
  return false;
}

bool CodeLoadRows::Next() {
  while (next_ < rows_) {
    const int row = next_++;
    correlation_at_ += static_cast<uint32_t>(correlation_[row]);
    if (!times_.Step(row, duration_[row], &event_.begin, &event_.end)) continue;
    if (kind_[row] < static_cast<uint32_t>(wire::CodeLoadKind::kModule) ||
        kind_[row] > static_cast<uint32_t>(wire::CodeLoadKind::kCompiler)) {
      ++context_.counts->unknown_kind;
      continue;
    }
    event_.kind = static_cast<wire::CodeLoadKind>(kind_[row]);
    event_.tid = tid_[row];
    event_.correlation = correlation_at_;
    event_.bytes = bytes_[row];
    return true;
  }
  return false;
}

bool StateRows::Next() {
  while (next_ < rows_) {
    const int row = next_++;
    HostNs end;
    if (!times_.Step(row, 0, &event_.at, &end)) continue;
    event_.what = what_[row];
    event_.value = value_[row];
    event_.text = std::string(context_.registry->String(text_[row]));
    return true;
  }
  return false;
}

}  // namespace stallscope::ingest
