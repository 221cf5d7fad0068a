#include "agent/cupti/name_ids.h"

#include <string.h>

#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kIdBits = 24;
constexpr uint64_t kIdMask = (uint64_t{1} << kIdBits) - 1;
constexpr uint32_t kLongestName = 65535;  // proto/stallscope/v1: strings of at most 64 KiB

}  // namespace

uint32_t NameIds::IdOf(const char* name) noexcept {
  if (name == nullptr) return 0;
  const auto address = reinterpret_cast<uint64_t>(name);
  std::atomic<uint64_t>& entry = entries_[address % kEntries];
  const uint64_t tag = address / kEntries;
  const uint64_t known = entry.load(std::memory_order_relaxed);
  if (known >> kIdBits == tag && (known & kIdMask) != 0) return static_cast<uint32_t>(known & kIdMask);
  const uint32_t id = InternString(name, static_cast<uint32_t>(strnlen(name, kLongestName)));
  if (id != 0 && id <= kIdMask) entry.store(tag << kIdBits | id, std::memory_order_relaxed);
  return id;
}

}  // namespace stallscope::agent
