#include "collector/ingest/process_registry.h"

#include "absl/strings/str_cat.h"
#include "stallscope/v1/frame.pb.h"

namespace stallscope::ingest {
namespace {

constexpr HostNs kBeginToleranceNs = 20'000'000;
constexpr size_t kTextOverheadBytes = 64;  // of a std::string in a deque and its allocation

uint32_t CallKey(uint32_t domain, uint32_t call) { return domain << 16 | call; }

bool IsSampled(uint32_t id) { return id >= kFirstSampledThreadId; }

bool Near(HostNs a, HostNs b) { return a <= b + kBeginToleranceNs && b <= a + kBeginToleranceNs; }

bool IsSameThread(const ThreadEntry& entry, bool sampled, HostNs begin) {
  if (sampled) {
    if (entry.sampled_begin != 0) return Near(entry.sampled_begin, begin);
    return begin <= entry.recorded_begin + kBeginToleranceNs;
  }
  if (entry.recorded_begin != 0) return Near(entry.recorded_begin, begin);
  return entry.sampled_begin <= begin + kBeginToleranceNs;
}

}  // namespace

ProcessRegistry::ProcessRegistry() = default;

bool ProcessRegistry::Afford(size_t bytes) {
  const size_t tables = strings_.bytes() + objects_.bytes() + threads_by_id_.bytes();
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
  const ThreadEntry* entry = threads_by_id_.Get(thread);
  return entry == nullptr ? nullptr : &entry->info;
}

ThreadEntry* ProcessRegistry::ThreadById(uint32_t id) {
  if (ThreadEntry* known = threads_by_id_.Get(id); known != nullptr) return known;
  if (threads_.size() >= kMaxThreads || !Afford(threads_by_id_.PageBytes() + sizeof(ThreadEntry))) {
    ++refused_;
    if (threads_.empty()) threads_.emplace_back();
    return &threads_.back();
  }
  ThreadEntry& entry = threads_.emplace_back();
  entry.info.thread = id;
  threads_by_id_.At(id) = &entry;
  return &entry;
}

const ThreadEntry* ProcessRegistry::ThreadByTid(uint32_t tid) const {
  auto found = threads_by_tid_.find(tid);
  return found == threads_by_tid_.end() ? nullptr : found->second;
}

ThreadEntry* ProcessRegistry::AddThread(uint32_t id, uint32_t tid, std::string_view name, HostNs begin) {
  ThreadEntry* entry = threads_by_id_.Get(id);
  if (entry == nullptr) {
    auto found = threads_by_tid_.find(tid);
    if (found != threads_by_tid_.end() && IsSameThread(*found->second, IsSampled(id), begin) &&
        Afford(threads_by_id_.PageBytes())) {
      entry = found->second;
      threads_by_id_.At(id) = entry;
    }
  }
  if (entry == nullptr) entry = ThreadById(id);
  if (entry->info.tid == 0) {
    entry->info.tid = tid;
    entry->info.begin = begin;
  }
  HostNs& side = IsSampled(id) ? entry->sampled_begin : entry->recorded_begin;
  if (side == 0) side = begin;
  // Names change (a thread names itself after it has started); the latest is the most telling.
  if (!name.empty() && entry->info.name != name) entry->info.name = std::string(name.substr(0, kMaxThreadNameBytes));
  threads_by_tid_[tid] = entry;
  return entry;
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

void ProcessRegistry::AddNames(const v1::Intern& intern) {
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
