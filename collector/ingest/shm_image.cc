#include "collector/ingest/shm_image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/ingest/code_map.h"
#include "collector/ingest/limits.h"

namespace stallscope::ingest {
namespace {

constexpr uint64_t kMaxImageBytes = uint64_t{4} << 30;
constexpr uint32_t kMaxSlots = 1u << 16;
constexpr uint32_t kMaxRingRecords = 1u << 20;
constexpr uint32_t kMaxBigRings = 256;
constexpr int kVersionTries = 100;

// Loads a plain field of foreign memory once; the compiler may not load it again later.
template <typename T>
T LoadOnce(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the shared memory of the process cannot be used: ", what));
}

bool IsPowerOfTwo(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

uint64_t ScaledNs(uint64_t ticks, uint64_t mult, uint32_t shift) {
  const unsigned __int128 product = static_cast<unsigned __int128>(ticks) * mult >> shift;
  return product > static_cast<uint64_t>(kMaxHostNs) ? static_cast<uint64_t>(kMaxHostNs)
                                                     : static_cast<uint64_t>(product);
}

}  // namespace

HostNs ShmClock::ToHostNs(uint64_t ticks) const {
  const int64_t delta = static_cast<int64_t>(ticks - base_ticks);
  const uint64_t base = std::min<uint64_t>(base_ns, kMaxHostNs);
  if (delta >= 0) return static_cast<HostNs>(std::min<uint64_t>(base + ScaledNs(delta, mult, shift), kMaxHostNs));
  // Rounds towards minus infinity, as the signed shift of the definition does.
  const unsigned __int128 product = static_cast<unsigned __int128>(uint64_t{0} - static_cast<uint64_t>(delta)) * mult;
  const unsigned __int128 back = (product + ((static_cast<unsigned __int128>(1) << shift) - 1)) >> shift;
  return back > base ? 0 : static_cast<HostNs>(base - static_cast<uint64_t>(back));
}

uint64_t ShmClock::DurationNs(uint64_t ticks) const { return ScaledNs(ticks, mult, shift); }

ShmImage::ShmImage(std::byte* memory, size_t bytes, bool writable, bool owned)
    : memory_(memory), bytes_(bytes), writable_(writable), owned_(owned) {}

ShmImage::~ShmImage() {
  if (owned_) munmap(memory_, bytes_);
}

absl::StatusOr<std::unique_ptr<ShmImage>> ShmImage::Map(int fd) {
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  // Without F_SEAL_SHRINK the peer could cut the file under the mapping, and the next access would be a SIGBUS.
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return Bad("the descriptor is no memfd");
  if ((seals & F_SEAL_SHRINK) == 0) return Bad("it is not sealed against shrinking");
  // A hugetlbfs memfd has seals too, but touching it can fault when no huge page is free.
  struct statfs filesystem;
  if (fstatfs(fd, &filesystem) != 0 || filesystem.f_type != TMPFS_MAGIC) return Bad("the descriptor is no plain memfd");
  struct stat status;
  if (fstat(fd, &status) != 0) return Bad(strerror(errno));
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes < sizeof(wire::Header) || bytes > kMaxImageBytes) return Bad(absl::StrCat("it has ", bytes, " bytes"));
  bool writable = true;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (memory == MAP_FAILED) {
    writable = false;
    memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
  }
  if (memory == MAP_FAILED) return Bad(strerror(errno));
  std::unique_ptr<ShmImage> image(new ShmImage(static_cast<std::byte*>(memory), bytes, writable, true));
  if (absl::Status checked = image->CheckLayout(); !checked.ok()) return checked;
  return image;
}

absl::StatusOr<std::unique_ptr<ShmImage>> ShmImage::Over(void* memory, size_t bytes, bool writable) {
  if (bytes < sizeof(wire::Header)) return Bad(absl::StrCat("it has ", bytes, " bytes"));
  std::unique_ptr<ShmImage> image(new ShmImage(static_cast<std::byte*>(memory), bytes, writable, false));
  if (absl::Status checked = image->CheckLayout(); !checked.ok()) return checked;
  return image;
}

absl::Status ShmImage::CheckLayout() {
  const wire::Header* shared = header();
  if (__atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) != wire::kShmMagic) return Bad("it has no header");
  const uint16_t major = LoadOnce(shared->version_major);
  if (major != wire::kVersionMajor) {
    return Bad(absl::StrCat("its layout is version ", major, ", this collector reads ", wire::kVersionMajor));
  }
  if (LoadOnce(shared->total_bytes) != bytes_) return Bad("its size is not what its header says");
  slots_offset_ = LoadOnce(shared->slots_offset);
  strings_offset_ = LoadOnce(shared->strings_offset);
  rings_offset_ = LoadOnce(shared->rings_offset);
  big_rings_offset_ = LoadOnce(shared->big_rings_offset);
  slot_count_ = LoadOnce(shared->slot_count);
  string_capacity_ = LoadOnce(shared->string_capacity);
  string_bytes_ = LoadOnce(shared->string_bytes);
  ring_records_ = LoadOnce(shared->ring_records);
  big_ring_records_ = LoadOnce(shared->big_ring_records);
  big_ring_count_ = LoadOnce(shared->big_ring_count);
  if (LoadOnce(shared->version_minor) >= 1) {
    stacks_offset_ = LoadOnce(shared->stacks_offset);
    stack_capacity_ = LoadOnce(shared->stack_capacity);
    stack_frame_capacity_ = LoadOnce(shared->stack_frame_capacity);
  }
  if (slot_count_ > kMaxSlots || big_ring_count_ > kMaxBigRings || !IsPowerOfTwo(ring_records_) ||
      ring_records_ > kMaxRingRecords ||
      (big_ring_count_ > 0 && (!IsPowerOfTwo(big_ring_records_) || big_ring_records_ > kMaxRingRecords))) {
    return Bad("its header has impossible sizes");
  }
  const auto fits = [this](uint64_t offset, uint64_t region_bytes, uint64_t alignment) {
    return offset % alignment == 0 && offset >= sizeof(wire::Header) && offset <= bytes_ &&
           region_bytes <= bytes_ - offset;
  };
  if (!fits(slots_offset_, uint64_t{slot_count_} * sizeof(wire::ThreadSlot), 64) ||
      !fits(strings_offset_, uint64_t{string_capacity_} * sizeof(uint32_t) + string_bytes_, 4) ||
      !fits(rings_offset_, uint64_t{slot_count_} * ring_records_ * sizeof(wire::Record), 64) ||
      !fits(big_rings_offset_, uint64_t{big_ring_count_} * big_ring_records_ * sizeof(wire::Record), 64)) {
    return Bad("its header points outside of it");
  }
  if (stack_capacity_ != 0 &&
      !fits(stacks_offset_,
            uint64_t{stack_capacity_} * sizeof(wire::StackEntry) + uint64_t{stack_frame_capacity_} * sizeof(uint64_t),
            8)) {
    return Bad("its header points outside of it");
  }
  return absl::OkStatus();
}

std::optional<ShmClock> ShmImage::ReadClock() const {
  const wire::ClockCalibration& shared = header()->clock;
  for (int attempt = 0; attempt < kVersionTries; ++attempt) {
    const uint32_t before = shared.version.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    ShmClock clock{LoadOnce(shared.base_ticks), LoadOnce(shared.base_ns), LoadOnce(shared.mult),
                   LoadOnce(shared.shift)};
    std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the writer's release of the even version
    if (shared.version.load(std::memory_order_relaxed) != before) continue;
    if (clock.shift >= 64) return std::nullopt;
    return clock;
  }
  return std::nullopt;
}

uint32_t ShmImage::slots_used() const {
  return std::min(header()->slots_used.load(std::memory_order_acquire), slot_count_);
}

wire::ThreadSlot* ShmImage::slot_at(uint32_t index) const {
  return reinterpret_cast<wire::ThreadSlot*>(memory_ + slots_offset_) + index;
}

bool ShmImage::ReadSlot(uint32_t index, ShmSlot* slot) const {
  if (index >= slot_count_) return false;
  const wire::ThreadSlot* shared = slot_at(index);
  const uint32_t state = shared->state.load(std::memory_order_acquire);  // pairs with FillSlot's release
  if (state != static_cast<uint32_t>(wire::SlotState::kLive) &&
      state != static_cast<uint32_t>(wire::SlotState::kExited)) {
    return false;
  }
  slot->index = index;
  slot->state = static_cast<wire::SlotState>(state);
  slot->tid = LoadOnce(shared->tid);
  slot->start_ticks = LoadOnce(shared->start_ticks);
  slot->generation = LoadOnce(shared->generation);
  char name[sizeof(shared->name)];
  for (size_t i = 0; i < sizeof(name); ++i) name[i] = LoadOnce(shared->name[i]);
  slot->name.assign(name, strnlen(name, sizeof(name)));
  slot->head = shared->head.load(std::memory_order_acquire);
  slot->short_waits = shared->short_waits.load(std::memory_order_relaxed);
  slot->lost = shared->lost.load(std::memory_order_relaxed);
  const uint32_t big = LoadOnce(shared->big_ring_plus_one);
  if (big > big_ring_count_) return false;
  slot->ring_records = big == 0 ? ring_records_ : big_ring_records_;
  slot->ring_offset = big == 0 ? rings_offset_ + uint64_t{index} * ring_records_ * sizeof(wire::Record)
                               : big_rings_offset_ + uint64_t{big - 1} * big_ring_records_ * sizeof(wire::Record);
  return true;
}

std::optional<ShmCurrentWait> ShmImage::ReadCurrentWait(uint32_t index) const {
  if (index >= slot_count_) return std::nullopt;
  const wire::CurrentWait& shared = slot_at(index)->current;
  for (int attempt = 0; attempt < kVersionTries; ++attempt) {
    const uint32_t before = shared.version.load(std::memory_order_acquire);
    const uint16_t call_plus_one = LoadOnce(shared.call_plus_one);
    if (call_plus_one == 0) return std::nullopt;
    if (before % 2 != 0) continue;
    ShmCurrentWait wait{static_cast<wire::RecordKind>(LoadOnce(shared.kind)), static_cast<uint16_t>(call_plus_one - 1),
                        LoadOnce(shared.object), LoadOnce(shared.begin)};
    // Both halves in one load, as the agent's streaming thread stores them.
    using TwoHalves [[gnu::may_alias]] = uint64_t;
    const uint64_t seen = LoadOnce(*reinterpret_cast<const TwoHalves*>(&shared.stack));
    if (static_cast<uint32_t>(seen >> 32) == static_cast<uint32_t>(wait.begin_ticks)) {
      wait.stack = static_cast<uint32_t>(seen);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (shared.version.load(std::memory_order_relaxed) == before) return wait;
  }
  return std::nullopt;
}

std::optional<std::string> ShmImage::ReadString(uint32_t id) const {
  const uint32_t used = std::min(header()->strings_used.load(std::memory_order_acquire), string_capacity_);
  if (id == 0 || id > used) return std::nullopt;
  const auto* offsets = reinterpret_cast<const uint32_t*>(memory_ + strings_offset_);
  const std::byte* bytes = memory_ + strings_offset_ + uint64_t{string_capacity_} * sizeof(uint32_t);
  const uint64_t at = LoadOnce(offsets[id - 1]);
  if (at + sizeof(uint32_t) > string_bytes_) return std::nullopt;
  uint32_t length;
  memcpy(&length, bytes + at, sizeof(length));
  if (length > kMaxStringBytes || at + sizeof(uint32_t) + length > string_bytes_) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes + at + sizeof(uint32_t)), length);
}

std::optional<StackInfo> ShmImage::ReadStack(uint32_t id) const {
  if (id == 0 || id > stack_capacity_) return std::nullopt;
  const auto& entry = reinterpret_cast<const wire::StackEntry*>(memory_ + stacks_offset_)[id - 1];
  const uint32_t count = entry.frame_count.load(std::memory_order_acquire);  // pairs with the agent's release
  const uint32_t first = LoadOnce(entry.first_frame);
  if (count == 0 || count > static_cast<uint32_t>(CodeMap::kMaxFrames) || first > stack_frame_capacity_ ||
      count > stack_frame_capacity_ - first) {
    return std::nullopt;
  }
  const auto* frames = reinterpret_cast<const uint64_t*>(memory_ + stacks_offset_ +
                                                         uint64_t{stack_capacity_} * sizeof(wire::StackEntry));
  StackInfo stack;
  for (uint32_t i = 0; i < count; ++i) stack.frames.push_back(LoadOnce(frames[first + i]));
  stack.generation = LoadOnce(entry.generation);
  stack.cut = (LoadOnce(entry.flags) & wire::kStackCut) != 0;
  return stack;
}

bool ShmImage::has_streaming_thread() const { return header()->heartbeat_ns.load(std::memory_order_relaxed) != 0; }

bool ShmImage::takes_stacks() const {
  return (header()->control.load(std::memory_order_relaxed) & wire::kControlStacks) != 0;
}

uint64_t ShmImage::counter(wire::Counter counter) const {
  return header()->counters[static_cast<uint32_t>(counter)].load(std::memory_order_relaxed);
}

uint64_t ShmImage::agent_cpu_ns() const { return header()->agent_cpu_ns.load(std::memory_order_relaxed); }

ShmImage::RingRead ShmImage::ReadRing(const ShmSlot& slot, uint64_t from, size_t limit, bool final,
                                      std::vector<RawRecord>* records) const {
  const auto* ring = reinterpret_cast<const wire::Record*>(memory_ + slot.ring_offset);
  RingRead read;
  uint64_t index = from;
  if (slot.head > slot.ring_records && index < slot.head - slot.ring_records) index = slot.head - slot.ring_records;
  if (index > slot.head) index = slot.head;  // the slot was taken anew, or its head is a lie
  read.first = index;
  for (; index < slot.head && records->size() < limit; ++index) {
    const wire::Record& shared = ring[index & (slot.ring_records - 1)];
    const uint64_t before = shared.sequence.load(std::memory_order_acquire);  // pairs with CommitTo's last store
    RawRecord record;
    bool whole = before == index + 1;
    if (whole) {
      record.begin = LoadOnce(shared.begin);
      record.duration = LoadOnce(shared.duration);
      record.object = LoadOnce(shared.object);
      record.argument = LoadOnce(shared.argument);
      record.detail = LoadOnce(shared.detail);
      record.id = LoadOnce(shared.id);
      record.stack = LoadOnce(shared.stack);
      record.kind = static_cast<wire::RecordKind>(LoadOnce(shared.kind));
      record.call = LoadOnce(shared.call);
      record.result = LoadOnce(shared.result);
      std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the fence after CommitTo's first store
      whole = shared.sequence.load(std::memory_order_relaxed) == before;
      // Left by the slot's last thread: this one has reserved the index but not begun to write. GPU records carry
      // another clock.
      if (!wire::HasHostTimes(record.kind) && record.begin + record.duration < slot.start_ticks) whole = false;
    }
    if (whole) {
      records->push_back(record);
      continue;
    }
    // A later record already stands there: the ring came round while we read. Else somebody is writing it now; when
    // half a ring has come after it, its writer was cancelled in between and will not come back.
    const bool overwritten = before > index + 1;
    if (!final && !overwritten && slot.head - index < slot.ring_records / 2) break;
    ++read.torn;
  }
  read.next = index;
  read.consumed = index - read.first;
  return read;
}

void ShmImage::WriteDrained(const ShmSlot& slot, uint64_t drained, uint64_t newly_lost) {
  if (!writable_) return;
  wire::ThreadSlot* shared = slot_at(slot.index);
  shared->drained.store(drained, std::memory_order_release);
  if (newly_lost > 0) shared->lost.fetch_add(newly_lost, std::memory_order_relaxed);
}

}  // namespace stallscope::ingest
