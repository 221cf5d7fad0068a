#include "agent/cuda/memory_calls.h"

#include "agent/hot/recorder.h"

namespace stallscope::agent {

constinit std::atomic<bool> g_memory_records_come{false};

void NoteMemory(const MemoryArgument& argument, uint32_t correlation_id) noexcept {
  if (argument.address == 0 || argument.operation == wire::MemoryOperation{0}) return;
  if (!argument.always && g_memory_records_come.load(std::memory_order_relaxed)) return;
  RecordFields fields;
  fields.begin = MonotonicNs();
  fields.object = argument.address;
  fields.argument = argument.bytes;
  fields.id = correlation_id;
  fields.stack = wire::PackMemoryPlace(argument.kind, 0, wire::kMemoryFlagNoCupti);
  fields.kind = wire::RecordKind::kMemory;
  fields.call = static_cast<uint16_t>(argument.operation);
  Commit(fields);
}

}  // namespace stallscope::agent
