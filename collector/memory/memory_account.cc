#include "collector/memory/memory_account.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace stallscope {
namespace {

constexpr HostNs kSecondNs = 1'000'000'000;

bool IsMemoryCall(wire::CudaCallClass call_class) {
  return call_class == wire::CudaCallClass::kAlloc || call_class == wire::CudaCallClass::kFree ||
         call_class == wire::CudaCallClass::kHostAlloc || call_class == wire::CudaCallClass::kHostRegister;
}

// "cudaMalloc_v3020" without the version.
std::string PlainName(std::string_view name) {
  const size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at + 6 != name.size()) return std::string(name);
  const bool digits = std::all_of(name.begin() + static_cast<ptrdiff_t>(at) + 2, name.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return std::string(digits ? name.substr(0, at) : name);
}

}  // namespace

void MemoryAccount::CallSums::Add(const CallSums& other) {
  calls += other.calls;
  bytes += other.bytes;
  failed += other.failed;
  total_ns += other.total_ns;
  longest_ns = std::max(longest_ns, other.longest_ns);
}

MemoryAccount::CallSums* MemoryAccount::Sums::Call(uint32_t key) {
  for (CallSums& call : calls) {
    if (call.key == key) return &call;
  }
  if (calls.size() >= kMaxCallNames) return nullptr;
  CallSums& call = calls.emplace_back();
  call.key = key;
  return &call;
}

void MemoryAccount::Sums::Add(const Sums& other) {
  for (int i = 0; i < kKinds; ++i) {
    const KindSums& more = other.kinds[static_cast<size_t>(i)];
    KindSums& kind = kinds[static_cast<size_t>(i)];
    kind.allocations += more.allocations;
    kind.releases += more.releases;
    kind.allocated_bytes += more.allocated_bytes;
    kind.released_bytes += more.released_bytes;
    kind.peak_bytes = std::max(kind.peak_bytes, more.peak_bytes);
  }
  for (const CallSums& call : other.calls) {
    if (CallSums* sums = Call(call.key)) sums->Add(call);
  }
  for (const auto& [pool, count] : other.trims) {
    const auto known =
        std::find_if(trims.begin(), trims.end(), [p = pool](const auto& trim) { return trim.first == p; });
    if (known != trims.end()) {
      known->second += count;
    } else if (trims.size() < kMaxPools) {
      trims.emplace_back(pool, count);
    }
  }
  unified.to_device_bytes += other.unified.to_device_bytes;
  unified.to_host_bytes += other.unified.to_host_bytes;
  unified.between_devices_bytes += other.unified.between_devices_bytes;
  unified.remote_mapped_bytes += other.unified.remote_mapped_bytes;
  unified.cpu_faults += other.unified.cpu_faults;
  unified.gpu_faults += other.unified.gpu_faults;
  unified.thrashing += other.unified.thrashing;
  unified.throttled += other.unified.throttled;
  unified.gpu_fault_ns += other.unified.gpu_fault_ns;
  unified.throttled_ns += other.unified.throttled_ns;
}

MemoryAccount::Sums* MemoryAccount::At(HostNs at) {
  first_ = std::min(first_, at);
  last_ = std::max(last_, at);
  const int64_t second = at / kSecondNs;
  Sums* sums = &seconds_[static_cast<size_t>(second % kSeconds)];
  if (sums->second > second) return &(beyond_ = Sums{});
  if (sums->second < second) {
    *sums = {};
    sums->second = second;
  }
  return sums;
}

template <typename Change>
void MemoryAccount::Count(HostNs at, const Change& change) {
  if (at < 0) return;
  change(&total_);
  change(At(at));
}

void MemoryAccount::Forget(HostNs at, const Allocation& allocation) {
  const size_t kind = allocation.kind;
  Live& live = live_of_kind_[kind];
  const uint64_t before_bytes = live.bytes;
  live.bytes -= std::min(live.bytes, allocation.bytes);
  live.allocations -= std::min<uint64_t>(live.allocations, 1);
  Count(at, [&](Sums* sums) {
    ++sums->kinds[kind].releases;
    sums->kinds[kind].released_bytes += allocation.bytes;
    sums->kinds[kind].peak_bytes = std::max(sums->kinds[kind].peak_bytes, before_bytes);
  });
}

void MemoryAccount::Allocate(const MemoryEvent& event, int kind) {
  if (event.bytes > kLargestBytes) {
    ++refused_;
    return;
  }
  auto& known = kind == kRegistered ? registered_ : live_;
  if (const auto found = known.find(event.address); found != known.end()) {
    // Its release was never told of; the address is in use again.
    Forget(event.end, found->second);
    known.erase(found);
  }
  if (known.size() >= kMaxLive) {
    ++untracked_;
    return;
  }
  known[event.address] = {event.bytes, event.extra, event.end, static_cast<uint8_t>(kind)};
  Live& live = live_of_kind_[static_cast<size_t>(kind)];
  live.bytes += event.bytes;
  ++live.allocations;
  Count(event.end, [&](Sums* sums) {
    KindSums& sum = sums->kinds[static_cast<size_t>(kind)];
    ++sum.allocations;
    sum.allocated_bytes += event.bytes;
    sum.peak_bytes = std::max(sum.peak_bytes, live.bytes);
  });
}

void MemoryAccount::Release(const MemoryEvent& event, int kind) {
  auto& known = kind == kRegistered ? registered_ : live_;
  const auto found = known.find(event.address);
  if (found == known.end()) {
    ++unmatched_releases_;
    return;
  }
  // Told of after the address was in use again (threads' records have no order): that release is counted already.
  if (event.end < found->second.since) return;
  Forget(event.end, found->second);
  known.erase(found);
}

MemoryAccount::Pool* MemoryAccount::PoolOf(uint64_t address) {
  if (const auto found = pools_.find(address); found != pools_.end()) return &found->second;
  if (pools_.size() >= kMaxPools) {
    // One that is no more gives way.
    const auto gone = std::find_if(pools_.begin(), pools_.end(), [](const auto& pool) { return !pool.second.exists; });
    if (gone == pools_.end()) return nullptr;
    pools_.erase(gone);
  }
  return &pools_[address];
}

void MemoryAccount::OnMemory(const MemoryEvent& event) {
  using wire::MemoryOperation;
  const int kind = event.memory_kind < kMemoryKinds ? event.memory_kind : 0;
  const auto count_unified = [&](const auto& change) {
    if (event.bytes > kLargestBytes) {
      ++refused_;
    } else {
      Count(event.end, [&](Sums* sums) { change(&sums->unified); });
    }
  };
  switch (event.operation) {
    case MemoryOperation::kAllocate:
      return Allocate(event, kind);
    case MemoryOperation::kRelease:
      return Release(event, kind);
    case MemoryOperation::kRegister:
      return Allocate(event, kRegistered);
    case MemoryOperation::kUnregister:
      return Release(event, kRegistered);
    case MemoryOperation::kPoolCreate:
    case MemoryOperation::kPoolDestroy:
    case MemoryOperation::kPoolTrim:
    case MemoryOperation::kPoolState: {
      Pool* pool = PoolOf(event.address);
      if (pool == nullptr) return;
      pool->device = event.device;
      pool->exists = event.operation != MemoryOperation::kPoolDestroy;
      if (event.operation == MemoryOperation::kPoolTrim) {
        Count(event.end, [&](Sums* sums) {
          Sums trimmed;
          trimmed.trims.emplace_back(event.address, 1);
          sums->Add(trimmed);
        });
      }
      if (event.operation == MemoryOperation::kPoolState) {
        if (event.bytes > kLargestBytes || event.extra > kLargestBytes) {
          ++refused_;
          return;
        }
        pool->reserved_bytes = event.bytes;
        pool->used_bytes = event.extra;
        pool->peak_reserved_bytes = std::max(pool->peak_reserved_bytes, event.bytes);
      }
      if (!pool->exists) pool->reserved_bytes = pool->used_bytes = 0;
      return;
    }
    case MemoryOperation::kMigrateToDevice:
      return count_unified([&](UnifiedMemoryReport* unified) { unified->to_device_bytes += event.bytes; });
    case MemoryOperation::kMigrateToHost:
      return count_unified([&](UnifiedMemoryReport* unified) { unified->to_host_bytes += event.bytes; });
    case MemoryOperation::kMigrateBetweenDevices:
      return count_unified([&](UnifiedMemoryReport* unified) { unified->between_devices_bytes += event.bytes; });
    case MemoryOperation::kRemoteMap:
      return count_unified([&](UnifiedMemoryReport* unified) { unified->remote_mapped_bytes += event.bytes; });
    case MemoryOperation::kCpuFaults:
      return count_unified([&](UnifiedMemoryReport* unified) { unified->cpu_faults += event.bytes; });
    case MemoryOperation::kGpuFaults:
      return count_unified([&](UnifiedMemoryReport* unified) {
        unified->gpu_faults += event.bytes;
        unified->gpu_fault_ns += event.end - event.begin;
      });
    case MemoryOperation::kThrashing:
      return count_unified([](UnifiedMemoryReport* unified) { ++unified->thrashing; });
    case MemoryOperation::kThrottling:
      return count_unified([&](UnifiedMemoryReport* unified) {
        ++unified->throttled;
        unified->throttled_ns += event.end - event.begin;
      });
  }
}

void MemoryAccount::OnCall(const CudaCallEvent& call) {
  if (!IsMemoryCall(call.call_class)) return;
  CallSums one;
  one.calls = 1;
  one.failed = call.result != 0 ? 1 : 0;
  if (call.result == 0 && call.argument <= kLargestBytes) one.bytes = call.argument;
  one.total_ns = one.longest_ns = call.end - call.begin;
  const uint32_t key = static_cast<uint32_t>(call.domain) << 16 | call.call;
  Count(call.end, [&](Sums* sums) {
    if (CallSums* known = sums->Call(key)) known->Add(one);
  });
}

MemoryReport MemoryAccount::Report(int64_t window_ns, HostNs now, const ProcessNames& names) const {
  MemoryReport report;
  Sums sums = total_;
  if (last_ > first_) report.seconds = static_cast<double>(last_ - first_) / kSecondNs;
  if (window_ns > 0) {
    sums = {};
    report.seconds = static_cast<double>(window_ns) / kSecondNs;
    for (const Sums& second : seconds_) {
      if (second.second < 0) continue;
      if (second.second * kSecondNs >= now - window_ns && second.second * kSecondNs < now) sums.Add(second);
    }
  }
  for (const CallSums& call : sums.calls) {
    const std::string_view name =
        names.CallName(static_cast<wire::CudaDomain>(call.key >> 16), static_cast<uint16_t>(call.key & 0xffff));
    report.calls.push_back({PlainName(name), call.calls, call.bytes, call.failed, call.total_ns, call.longest_ns});
  }
  std::stable_sort(report.calls.begin(), report.calls.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  for (size_t i = 0; i < kKinds; ++i) {
    if (total_.kinds[i].allocations == 0) continue;
    const KindSums& kind = sums.kinds[i];
    const Live& live = live_of_kind_[i];
    report.kinds.push_back({i == kRegistered ? "registered" : MemoryKindName(static_cast<uint8_t>(i)), kind.allocations,
                            kind.releases, kind.allocated_bytes, kind.released_bytes, live.bytes, live.allocations,
                            std::max(kind.peak_bytes, live.bytes)});
    report.came_and_went_bytes += std::min(kind.allocated_bytes, kind.released_bytes);
  }
  for (const auto& [address, pool] : pools_) {
    MemoryPoolReport row{address, pool.device, pool.reserved_bytes, pool.used_bytes, pool.peak_reserved_bytes, 0};
    for (const auto& [trimmed, count] : sums.trims) {
      if (trimmed == address) row.trims = count;
    }
    if (pool.exists || row.trims != 0) report.pools.push_back(row);
  }
  std::sort(report.pools.begin(), report.pools.end(), [](const auto& a, const auto& b) {
    return a.reserved_bytes != b.reserved_bytes ? a.reserved_bytes > b.reserved_bytes : a.address < b.address;
  });
  report.unified = sums.unified;
  report.unmatched_releases = unmatched_releases_;
  report.untracked = untracked_;
  report.refused = refused_;
  return report;
}

}  // namespace stallscope
