#include "agent/stream/ring_reader.h"

namespace stallscope::agent {
namespace {

enum class Copied { kWhole, kOverwritten, kUnfinished };

Copied CopyRecord(const wire::Record& record, uint64_t index, PlainRecord* out) noexcept {
  const uint64_t before = record.sequence.load(std::memory_order_acquire);  // pairs with the writer's last store
  if (before > index + 1) return Copied::kOverwritten;
  if (before != index + 1) return Copied::kUnfinished;
  const auto* source = const_cast<const volatile wire::Record*>(&record);
  out->begin = source->begin;
  out->duration = source->duration;
  out->object = source->object;
  out->argument = source->argument;
  out->detail = source->detail;
  out->id = source->id;
  out->stack = source->stack;
  out->kind = source->kind;
  out->call = source->call;
  out->result = source->result;
  std::atomic_thread_fence(std::memory_order_acquire);
  return record.sequence.load(std::memory_order_relaxed) == before ? Copied::kWhole : Copied::kOverwritten;
}

}  // namespace

ReadResult ReadRing(const wire::ThreadSlot& slot, const wire::Record* ring, uint64_t ring_records, uint64_t from,
                    bool give_up_first, PlainRecord* out, uint32_t capacity) noexcept {
  ReadResult result;
  uint64_t head = slot.head.load(std::memory_order_acquire);
  uint64_t index = from;
  while (result.count < capacity && index < head) {
    if (head - index > ring_records) {
      // The writer has gone round. What was read so far stands; the gap starts the next read.
      if (result.count != 0) break;
      result.lost += head - ring_records - index;
      index = head - ring_records;
    }
    const Copied copied = CopyRecord(ring[index & (ring_records - 1)], index, &out[result.count]);
    if (copied == Copied::kWhole) {
      if (result.count == 0) result.first = index;
      ++result.count;
      ++index;
      continue;
    }
    if (copied == Copied::kUnfinished) {
      // Begun and unfinished; or overwritten by a record that is unfinished, which the head tells.
      head = slot.head.load(std::memory_order_acquire);
      if (head - index <= ring_records) {
        if (result.count == 0 && give_up_first && index == from) {
          ++result.lost;
          ++index;
          continue;
        }
        result.blocked = index + 1 < head;
        break;
      }
      continue;
    }
    if (result.count != 0) break;
    ++result.lost;
    ++index;
    head = slot.head.load(std::memory_order_acquire);
  }
  if (result.count == 0) result.first = index;
  return result;
}

}  // namespace stallscope::agent
