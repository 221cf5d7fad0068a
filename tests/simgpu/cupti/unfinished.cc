#include "tests/simgpu/cupti/unfinished.h"

#include "tests/simgpu/core/simulator.h"
#include "tests/simgpu/cupti/buffers.h"
#include "tests/simgpu/cupti/faults.h"
#include "tests/simgpu/cupti/stamp.h"

namespace simgpu::cupti {

UnfinishedRecords& UnfinishedRecords::Get() {
  static auto* records = new UnfinishedRecords;
  return *records;
}

void UnfinishedRecords::Push(const Held& held) {
  std::lock_guard lock(mutex_);
  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.push_back(held);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = held;
  }
  by_end_.push({held.span.end_ns, slot});
}

void UnfinishedRecords::Release(uint64_t until_ns, bool also_unfinished) {
  for (;;) {
    Held held;
    {
      std::lock_guard lock(mutex_);
      if (by_end_.empty()) return;
      const Order next = by_end_.top();
      if (next.end_ns > until_ns && !also_unfinished) return;
      by_end_.pop();
      held = slots_[next.slot];
      free_slots_.push_back(next.slot);
    }
    const bool timed = ActiveFault() != Fault::kZeroTimes;
    const uint64_t begin = timed ? StampOf(held.span.begin_ns) : 0;
    const uint64_t end = timed && held.span.end_ns <= until_ns ? StampOf(held.span.end_ns) : 0;
    std::memcpy(held.bytes + held.start_offset, &begin, sizeof begin);
    std::memcpy(held.bytes + held.end_offset, &end, sizeof end);
    if (held.completed_offset != 0) std::memcpy(held.bytes + held.completed_offset, &end, sizeof end);
    ActivityBuffers::Get().Write(held.bytes, held.record_bytes);
  }
}

void UnfinishedRecords::ReleaseFinished() { Release(Simulator::Get().clock().NowNs(), false); }
void UnfinishedRecords::ReleaseAll() { Release(Simulator::Get().clock().NowNs(), true); }

}  // namespace simgpu::cupti
