#include "collector/ingest/process_registry.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

constexpr HostNs kBeginToleranceNs = 20'000'000;
constexpr size_t kTextOverheadBytes = 64;  // of a std::string in a deque and its allocation

uint32_t CallKey(uint32_t domain, uint32_t call) { return domain << 16 | call; }

bool IsSampled(uint32_t id) { return id >= kFirstSampledThreadId; }

bool Near(HostNs a, HostNs b, HostNs tolerance) { return a <= b + tolerance && b <= a + tolerance; }

bool IsSameThread(const ThreadEntry& entry, bool sampled, HostNs begin) {
  if (sampled) {
    if (entry.sampled_begin != 0) return Near(entry.sampled_begin, begin, kBeginToleranceNs);
    return begin <= entry.recorded_begin + kBeginToleranceNs;
  }
  if (entry.recorded_begin != 0) return Near(entry.recorded_begin, begin, kBeginToleranceNs);
  return entry.sampled_begin <= begin + kBeginToleranceNs;
}

}  // namespace

ProcessRegistry::ProcessRegistry() = default;

bool ProcessRegistry::Afford(size_t bytes) {
  const size_t tables = strings_.bytes() + objects_.bytes() + rings_by_id_.bytes();
  if (bytes_ + tables + bytes > kMaxRegistryBytes) {
    ++refused_;
    return false;
  }
  return true;
}

std::string_view ProcessRegistry::Keep(std::string_view text) {
  bytes_ += text.size() + kTextOverheadBytes;
  return texts_.emplace_back(text);
}

std::string_view ProcessRegistry::CallName(wire::CudaDomain domain, uint16_t call) const {
  const uint32_t key = CallKey(static_cast<uint32_t>(domain), call);
  if (auto found = call_names_.find(key); found != call_names_.end()) return found->second;
  std::string& name = unknown_call_names_[key];
  if (name.empty()) name = absl::StrCat(domain == wire::CudaDomain::kDriver ? "cuda_driver_" : "cuda_runtime_", call);
  return name;
}

const ThreadInfo* ProcessRegistry::Thread(ThreadIndex thread) const {
  const RingEntry* ring = rings_by_id_.Get(thread);
  return ring == nullptr ? nullptr : &ring->thread->info;
}

RingEntry* ProcessRegistry::Ring(uint32_t id) { return RingOf(id, nullptr); }

RingEntry* ProcessRegistry::RingOf(uint32_t id, ThreadEntry* thread) {
  if (RingEntry* known = rings_by_id_.Get(id); known != nullptr) return known;
  if (rings_.size() >= kMaxThreads || !Afford(rings_by_id_.PageBytes() + sizeof(RingEntry) + sizeof(ThreadEntry))) {
    ++refused_;
    if (!rings_.empty()) return &rings_.back();
  }
  if (thread == nullptr) {
    thread = &threads_.emplace_back();
    thread->info.thread = id;
  }
  RingEntry& ring = rings_.emplace_back();
  bytes_ += sizeof(RingEntry) + sizeof(ThreadEntry);
  ring.id = id;
  ring.thread = thread;
  ring.progress = &progress_.emplace_back();
  rings_by_id_.At(id) = &ring;
  return &ring;
}

const RingEntry* ProcessRegistry::FindRing(uint32_t tid, HostNs begin, HostNs tolerance_ns) const {
  const auto found = rings_by_tid_.find(tid);
  if (found == rings_by_tid_.end()) return nullptr;
  const RingEntry* nearest = nullptr;
  for (const RingEntry* ring : found->second) {
    if (IsSampled(ring->id) || !Near(ring->begin, begin, tolerance_ns)) continue;
    if (nearest == nullptr || std::abs(ring->begin - begin) < std::abs(nearest->begin - begin)) nearest = ring;
  }
  return nearest;
}

void ProcessRegistry::ContinueProgress(RingEntry* ring, uint64_t first_record, HostNs tolerance_ns) {
  const auto found = rings_by_tid_.find(ring->thread->info.tid);
  if (found == rings_by_tid_.end()) return;
  const auto distance = [first_record](const RingEntry* other) {
    const uint64_t next = other->progress->next_record;
    return next > first_record ? next - first_record : first_record - next;
  };
  const RingEntry* nearest = nullptr;
  for (const RingEntry* other : found->second) {
    if (other == ring || !other->progress->seen_batch || !Near(other->begin, ring->begin, tolerance_ns)) continue;
    if (nearest == nullptr || distance(other) < distance(nearest)) nearest = other;
  }
  if (nearest != nullptr) ring->progress = nearest->progress;
}

RingEntry* ProcessRegistry::AddThread(uint32_t id, uint32_t tid, std::string_view name, HostNs begin) {
  const bool sampled = IsSampled(id);
  RingEntry* ring = rings_by_id_.Get(id);
  const bool placeholder = ring == nullptr || ring->thread->info.tid == 0;
  if (ring == nullptr) {
    ThreadEntry* same = nullptr;
    if (const auto found = rings_by_tid_.find(tid); found != rings_by_tid_.end()) {
      for (const RingEntry* other : found->second) {
        if (IsSameThread(*other->thread, sampled, begin)) same = other->thread;
      }
    }
    ring = RingOf(id, same);
    if (ring->id != id) return ring;  // past the limit
  }
  ThreadEntry* thread = ring->thread;
  if (placeholder) {
    ring->begin = begin;
    if (thread->info.tid == 0) {
      thread->info.tid = tid;
      thread->info.begin = begin;
    }
    rings_by_tid_[tid].push_back(ring);
  }
  HostNs& side = sampled ? thread->sampled_begin : thread->recorded_begin;
  if (side == 0) side = begin;
  // Names change (a thread names itself after it has started); the latest is the most telling.
  if (!name.empty() && !thread->named && thread->info.name != name) {
    thread->info.name = std::string(name.substr(0, kMaxThreadNameBytes));
  }
  if (const auto waiting = waiting_names_.find(tid); waiting != waiting_names_.end()) {
    thread->info.name = std::move(waiting->second);
    thread->named = true;
    waiting_names_.erase(waiting);
  }
  return ring;
}

void ProcessRegistry::AddString(uint32_t id, std::string_view text) {
  if (id == 0 || id >= kIdLimit || text.size() > kMaxStringBytes || !Afford(strings_.PageBytes() + text.size())) {
    ++refused_;
    return;
  }
  std::string_view& place = strings_.At(id);
  if (place.data() != nullptr && place == text) return;  // sent again after a reconnect
  place = Keep(text);
}

void ProcessRegistry::NameThread(uint32_t tid, std::string_view name) {
  std::string text(name.substr(0, kMaxThreadNameBytes));
  if (const auto found = rings_by_tid_.find(tid); found != rings_by_tid_.end() && !found->second.empty()) {
    ThreadEntry* thread = found->second.back()->thread;
    thread->info.name = std::move(text);
    thread->named = true;
  } else if (waiting_names_.size() < kMaxThreads && Afford(text.size() + sizeof(uint32_t))) {
    waiting_names_[tid] = std::move(text);
  } else {
    ++refused_;
  }
}

void ProcessRegistry::AddNames(const v1::Intern& intern) {
  code_map_.Add(intern);
  for (const auto& text : intern.strings()) AddString(text.id(), text.text());
  for (const auto& object : intern.objects()) {
    if (object.id() == 0 || object.id() >= kIdLimit || !Afford(objects_.PageBytes())) {
      ++refused_;
    } else {
      objects_.At(object.id()) = object.value();
    }
  }
  for (const auto& call : intern.call_names()) {
    if (call.domain() > 1 || call.call() > 0xffff || call.name().size() > kMaxStringBytes ||
        !Afford(call.name().size())) {
      ++refused_;
      continue;
    }
    std::string_view& place = call_names_[CallKey(call.domain(), call.call())];
    if (place != call.name()) place = Keep(call.name());
  }
}

}  // namespace stallscope::ingest
