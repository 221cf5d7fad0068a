#include "agent/nvtx/text_ids.h"

#include <string.h>

#include <atomic>

#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constexpr uint32_t kLongestText = 1024;
constexpr uint32_t kEntries = 4096;
constexpr uint32_t kIdBits = 24;  // proto/stallscope/v1: ids are below 2^24
constexpr uint64_t kIdMask = (uint64_t{1} << kIdBits) - 1;

// The hash's upper 40 bits << 24 | id. The lower 12 bits chose the entry.
constinit std::atomic<uint64_t> g_entries[kEntries] = {};

uint64_t Hash(const char* bytes, uint32_t length) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ length;
  for (uint32_t i = 0; i < length; ++i) hash = (hash ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3u;
  hash ^= hash >> 32;
  return hash * 0xd6e8feb86659fd93u;
}

uint32_t IdOf(const char* bytes, uint32_t length) noexcept {
  const uint64_t hash = Hash(bytes, length);
  std::atomic<uint64_t>& entry = g_entries[hash % kEntries];
  const uint64_t known = entry.load(std::memory_order_relaxed);
  if ((known ^ hash) >> kIdBits == 0 && (known & kIdMask) != 0) return static_cast<uint32_t>(known & kIdMask);
  const uint32_t id = InternString(bytes, length);
  if (id != 0 && id <= kIdMask) entry.store((hash & ~kIdMask) | id, std::memory_order_relaxed);
  return id;
}

}  // namespace

uint32_t TextId(const char* text) noexcept {
  if (text == nullptr) return 0;
  return IdOf(text, static_cast<uint32_t>(strnlen(text, kLongestText)));
}

uint32_t Utf8Of(const wchar_t* text, char* utf8, uint32_t capacity) noexcept {
  uint32_t length = 0;
  for (; *text != L'\0' && length + 4 <= capacity; ++text) {
    const auto code = static_cast<uint32_t>(*text);
    if (code < 0x80) {
      utf8[length++] = static_cast<char>(code);
    } else if (code < 0x800) {
      utf8[length++] = static_cast<char>(0xc0 | code >> 6);
      utf8[length++] = static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      utf8[length++] = static_cast<char>(0xe0 | code >> 12);
      utf8[length++] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
      utf8[length++] = static_cast<char>(0x80 | (code & 0x3f));
    } else {
      utf8[length++] = static_cast<char>(0xf0 | (code >> 18 & 0x07));
      utf8[length++] = static_cast<char>(0x80 | (code >> 12 & 0x3f));
      utf8[length++] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
      utf8[length++] = static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return length;
}

uint32_t WideTextId(const wchar_t* text) noexcept {
  if (text == nullptr) return 0;
  char utf8[kLongestText];
  return IdOf(utf8, Utf8Of(text, utf8, kLongestText));
}

}  // namespace stallscope::agent
