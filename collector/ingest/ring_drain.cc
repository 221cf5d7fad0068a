#include "collector/ingest/ring_drain.h"

#include <algorithm>
#include <utility>

#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

// A batch stays far below the frame limit (at most about 70 bytes a record).
constexpr size_t kRecordsPerBatch = 4096;

constexpr uint64_t kMaxRecordsPerLiveDrain = 1'000'000;

}  // namespace

RingDrain::RingDrain(uint32_t process, ProcessRegistry* registry, ShmImage* image, FrameSink sink)
    : process_(process), registry_(registry), image_(image), sink_(std::move(sink)), packer_(registry, image) {}

RingEntry* RingDrain::RingOfSlot(const ShmSlot& slot, const ShmClock& clock) {
  KnownSlot& known = slots_[slot.index];
  if (known.ring != 0 && known.generation == slot.generation) return registry_->Ring(known.ring);
  const HostNs begin = clock.ToHostNs(slot.start_ticks);
  const HostNs age = static_cast<HostNs>(std::min<uint64_t>(clock.base_ns, kMaxHostNs)) - begin;
  const RingEntry* ring = registry_->FindRing(slot.tid, begin, BeginTolerance(age));
  const bool free = ring != nullptr && std::none_of(slots_.begin(), slots_.end(), [&](const KnownSlot& other) {
                      return other.ring == ring->id &&
                             &other != &known;  // the thread's earlier slot: it has changed to a bigger ring
                    });
  if (free) {
    known = {slot.generation, ring->id};
    return registry_->Ring(ring->id);
  }
  if (next_thread_ >= kFirstSampledThreadId) return nullptr;
  v1::Frame frame;
  frame.set_process(process_);
  v1::Intern::Thread* thread = frame.mutable_intern()->add_threads();
  thread->set_id(next_thread_);
  thread->set_tid(slot.tid);
  thread->set_name(slot.name);
  thread->set_begin_ns(static_cast<uint64_t>(begin));
  sink_(frame);
  known = {slot.generation, next_thread_++};
  return registry_->Ring(known.ring);
}

uint64_t RingDrain::DrainSlot(const ShmSlot& slot, const ShmClock& clock, bool final) {
  RingEntry* ring = RingOfSlot(slot, clock);
  if (ring == nullptr) return 0;
  uint64_t total = 0;
  while (ring->progress->next_record < slot.head) {
    records_.clear();
    const uint64_t from = ring->progress->next_record;
    const ShmImage::RingRead read = image_->ReadRing(slot, from, kRecordsPerBatch, final, &records_);
    if (read.consumed == 0) break;
    torn_ += read.torn;
    total += records_.size();
    v1::Frame names, frame;
    frame.set_process(process_);
    v1::Batch* batch = frame.mutable_batch();
    batch->set_thread(ring->id);
    batch->set_first_record(read.first);
    batch->set_record_count(static_cast<uint32_t>(read.consumed));
    packer_.Pack(records_, clock, names.mutable_intern(), batch);
    if (names.intern().ByteSizeLong() > 0) {
      names.set_process(process_);
      sink_(names);
    }
    sink_(frame);
    if (!final) image_->WriteDrained(slot, read.next, read.first - from);
    // The decoder advances next_record as it takes the batch; a decoder that does not must not keep us here.
    if (ring->progress->next_record < read.next) ring->progress->next_record = read.next;
  }
  return total;
}

uint64_t RingDrain::Drain(bool final) {
  const std::optional<ShmClock> clock = image_->ReadClock();
  if (!clock.has_value()) return 0;
  const uint32_t used = image_->slots_used();
  if (slots_.size() < used) slots_.resize(used);
  uint64_t total = 0;
  uint32_t next_first = 0;
  ShmSlot slot;
  complete_ = true;
  for (uint32_t step = 0; step < used; ++step) {
    // A process that records faster than we read (or lies about it) is left for the next round, which goes on behind.
    if (!final && total > kMaxRecordsPerLiveDrain) {
      complete_ = false;
      break;
    }
    const uint32_t index = (first_slot_ + step) % used;
    if (image_->ReadSlot(index, &slot) && slot.head > 0) total += DrainSlot(slot, *clock, final);
    if (!final) next_first = index + 1;
  }
  first_slot_ = next_first;
  return total;
}

RingDrain::Totals RingDrain::ReadTotals() const {
  Totals totals;
  ShmSlot slot;
  for (uint32_t index = 0; index < image_->slots_used(); ++index) {
    if (!image_->ReadSlot(index, &slot)) continue;
    totals.records += slot.head;
    totals.short_waits += slot.short_waits;
    totals.lost += slot.lost;
  }
  return totals;
}

}  // namespace stallscope::ingest
