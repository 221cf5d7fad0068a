#include "collector/ingest/shm_builder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace stallscope::ingest {
namespace {

constexpr uint32_t kWaiterCount = 64;

uint64_t Align(uint64_t bytes) { return (bytes + 63) & ~uint64_t{63}; }

void Require(bool done) {
  if (!done) abort();  // a test cannot go on without it
}

}  // namespace

ShmBuilder::ShmBuilder(const Sizes& sizes) : fd_(memfd_create("stallscope-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  Require(fd_ >= 0);
  uint64_t at = 4096;
  const auto place = [&at](uint64_t region_bytes) {
    const uint64_t offset = at;
    at = Align(at + region_bytes);
    return offset;
  };
  const uint64_t waiters = place(kWaiterCount * sizeof(uint32_t));
  const uint64_t slots = place(uint64_t{sizes.slots} * sizeof(wire::ThreadSlot));
  const uint64_t strings = place(uint64_t{sizes.string_capacity} * sizeof(uint32_t) + sizes.string_bytes);
  const uint64_t rings = place(uint64_t{sizes.slots} * sizes.ring_records * sizeof(wire::Record));
  const uint64_t big_rings = place(uint64_t{sizes.big_rings} * sizes.big_ring_records * sizeof(wire::Record));
  const uint64_t stacks = place(uint64_t{sizes.stacks} * sizeof(wire::StackEntry) + uint64_t{sizes.stack_frames} * 8);
  bytes_ = at;
  Require(ftruncate(fd_, static_cast<off_t>(bytes_)) == 0);
  Require(fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  Require(memory != MAP_FAILED);
  header_ = static_cast<wire::Header*>(memory);
  header_->version_major = wire::kVersionMajor;
  header_->pid = 4242;
  header_->total_bytes = bytes_;
  header_->waiters_offset = waiters;
  header_->slots_offset = slots;
  header_->strings_offset = strings;
  header_->rings_offset = rings;
  header_->big_rings_offset = big_rings;
  header_->waiter_count = kWaiterCount;
  header_->slot_count = sizes.slots;
  header_->string_capacity = sizes.string_capacity;
  header_->string_bytes = sizes.string_bytes;
  header_->ring_records = sizes.ring_records;
  header_->big_ring_records = sizes.big_ring_records;
  header_->big_ring_count = sizes.big_rings;
  header_->version_minor = 1;
  header_->stacks_offset = stacks;
  header_->stack_capacity = sizes.stacks;
  header_->stack_frame_capacity = sizes.stack_frames;
  SetClock(0, 0, 1, 0);
  header_->magic = wire::kShmMagic;
}

ShmBuilder::~ShmBuilder() {
  munmap(header_, bytes_);
  close(fd_);
}

wire::ThreadSlot* ShmBuilder::slot(uint32_t index) {
  return reinterpret_cast<wire::ThreadSlot*>(reinterpret_cast<char*>(header_) + header_->slots_offset) + index;
}

wire::Record* ShmBuilder::record(uint32_t slot_index, uint64_t index) {
  char* base = reinterpret_cast<char*>(header_);
  if (const uint32_t big = slot(slot_index)->big_ring_plus_one; big != 0) {
    return reinterpret_cast<wire::Record*>(base + header_->big_rings_offset) +
           uint64_t{big - 1} * header_->big_ring_records + index % header_->big_ring_records;
  }
  return reinterpret_cast<wire::Record*>(base + header_->rings_offset) + uint64_t{slot_index} * header_->ring_records +
         index % header_->ring_records;
}

int ShmBuilder::DuplicateFd() const { return fcntl(fd_, F_DUPFD_CLOEXEC, 0); }

void ShmBuilder::SetClock(uint64_t base_ticks, uint64_t base_ns, uint64_t mult, uint32_t shift) {
  header_->clock.base_ticks = base_ticks;
  header_->clock.base_ns = base_ns;
  header_->clock.mult = mult;
  header_->clock.shift = shift;
}

void ShmBuilder::TakeSlot(uint32_t index, uint32_t tid, uint64_t start_ticks, std::string_view name) {
  wire::ThreadSlot* taken = slot(index);
  taken->tid = tid;
  taken->start_ticks = start_ticks;
  memset(taken->name, 0, sizeof(taken->name));
  memcpy(taken->name, name.data(), std::min(name.size(), sizeof(taken->name) - 1));
  taken->generation = taken->generation + 1;
  taken->head.store(0);
  taken->drained.store(0);
  taken->state.store(static_cast<uint32_t>(wire::SlotState::kLive));
  if (header_->slots_used.load() <= index) header_->slots_used.store(index + 1);
}

void ShmBuilder::Commit(uint32_t slot_index, const RawRecord& fields) {
  CommitHalf(slot_index, fields);
  const uint64_t index = slot(slot_index)->head.load() - 1;
  record(slot_index, index)->sequence.store(index + 1, std::memory_order_release);
}

void ShmBuilder::CommitHalf(uint32_t slot_index, const RawRecord& fields) {
  const uint64_t index = slot(slot_index)->head.fetch_add(1);
  wire::Record* place = record(slot_index, index);
  place->sequence.store(0);
  place->begin = fields.begin;
  place->duration = fields.duration;
  place->object = fields.object;
  place->argument = fields.argument;
  place->detail = fields.detail;
  place->id = fields.id;
  place->stack = fields.stack;
  place->kind = static_cast<uint16_t>(fields.kind);
  place->call = fields.call;
  place->result = fields.result;
}

wire::StackEntry* ShmBuilder::stack(uint32_t index) {
  return reinterpret_cast<wire::StackEntry*>(reinterpret_cast<std::byte*>(header_) + header_->stacks_offset) + index;
}

void ShmBuilder::AddStack(const std::vector<uint64_t>& frames, uint32_t generation) {
  auto* all_frames = reinterpret_cast<uint64_t*>(stack(header_->stack_capacity));
  const uint32_t first = header_->stack_frames_used.fetch_add(static_cast<uint32_t>(frames.size()));
  wire::StackEntry* entry = stack(header_->stacks_used.fetch_add(1));
  std::copy(frames.begin(), frames.end(), all_frames + first);
  entry->first_frame = first;
  entry->generation = generation;
  entry->frame_count = static_cast<uint32_t>(frames.size());
}

uint32_t ShmBuilder::AddString(std::string_view text) {
  char* base = reinterpret_cast<char*>(header_) + header_->strings_offset;
  const uint32_t count = header_->strings_used.load();
  const uint32_t at = (header_->string_bytes_used.load() + 3) & ~3u;
  Require(count < header_->string_capacity && at + 4 + text.size() <= header_->string_bytes);
  const auto length = static_cast<uint32_t>(text.size());
  memcpy(base + count * sizeof(uint32_t), &at, sizeof(at));
  char* entry = base + header_->string_capacity * sizeof(uint32_t) + at;
  memcpy(entry, &length, sizeof(length));
  memcpy(entry + sizeof(length), text.data(), text.size());
  header_->string_bytes_used.store(at + 4 + length);
  header_->strings_used.store(count + 1);
  return count + 1;
}

void ShmBuilder::Block(uint32_t slot_index, wire::RecordKind kind, uint16_t call, uint64_t object,
                       uint64_t begin_ticks) {
  wire::CurrentWait& current = slot(slot_index)->current;
  current.kind = static_cast<uint16_t>(kind);
  current.call_plus_one = static_cast<uint16_t>(call + 1);
  current.object = object;
  current.begin = begin_ticks;
}

}  // namespace stallscope::ingest
