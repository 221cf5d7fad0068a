#include "agent/hot/string_table.h"

#include <string.h>

#include "agent/hot/process_state.h"
#include "agent/hot/raw_syscall.h"
#include "agent/hot/recorder.h"

namespace stallscope::agent {
namespace {

constinit uint32_t* g_index = nullptr;  // string ids, 0: free cell
constinit uint32_t g_index_mask = 0;
constinit std::atomic<uint32_t> g_lock{0};
constinit bool g_open = false;              // the table's memory can be touched
constexpr uint32_t kLongestString = 65000;  // a reader refuses 64 KiB

uint64_t Hash(const char* text, uint32_t length) noexcept {
  uint64_t hash = 0xcbf29ce484222325u ^ length;
  for (uint32_t i = 0; i < length; ++i) hash = (hash ^ static_cast<uint8_t>(text[i])) * 0x100000001b3u;
  return hash ^ (hash >> 29);
}

uint32_t* Offsets(const wire::Header* header) noexcept {
  return reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(header) + header->strings_offset);
}

char* Bytes(const wire::Header* header) noexcept {
  return reinterpret_cast<char*>(Offsets(header) + header->string_capacity);
}

// A program without GPU work and ranges never gets this far.
bool OpenTable(const wire::Header* header) noexcept {
  if (!g_open) g_open = OpenSharedMemory(header->strings_offset, header->rings_offset - header->strings_offset);
  return g_open;
}

uint32_t InternLocked(wire::Header* header, const char* text, uint32_t length) noexcept {
  if (!OpenTable(header)) {
    Count(wire::Counter::kStringsExhausted);
    return 0;
  }
  uint32_t cell = static_cast<uint32_t>(Hash(text, length)) & g_index_mask;
  for (; g_index[cell] != 0; cell = (cell + 1) & g_index_mask) {
    uint32_t known_length = 0;
    const char* known = StringBytes(header, g_index[cell], &known_length);
    if (known_length == length && memcmp(known, text, length) == 0) return g_index[cell];
  }
  const uint32_t count = header->strings_used.load(std::memory_order_relaxed);
  const uint32_t at = (header->string_bytes_used.load(std::memory_order_relaxed) + 3) & ~3u;
  if (count >= header->string_capacity || at + 4 + length > header->string_bytes) {
    Count(wire::Counter::kStringsExhausted);
    return 0;
  }
  char* entry = Bytes(header) + at;
  memcpy(entry, &length, 4);
  memcpy(entry + 4, text, length);
  Offsets(header)[count] = at;
  header->string_bytes_used.store(at + 4 + length, std::memory_order_relaxed);
  header->strings_used.store(count + 1, std::memory_order_release);  // pairs with the readers' acquire
  g_index[cell] = count + 1;
  return count + 1;
}

}  // namespace

uint64_t StringIndexBytes(uint32_t capacity) noexcept {
  uint64_t cells = 64;
  while (cells < uint64_t{2} * capacity) cells *= 2;
  return cells * sizeof(uint32_t);
}

void UseStringIndex(uint32_t* index) noexcept {
  g_index = index;
  g_index_mask = static_cast<uint32_t>(StringIndexBytes(g_header->string_capacity) / sizeof(uint32_t)) - 1;
  g_open = false;
  g_lock.store(0, std::memory_order_release);  // whoever held it stayed in the parent of a fork
}

const char* StringBytes(const wire::Header* header, uint32_t id, uint32_t* length) noexcept {
  *length = 0;
  if (id == 0 || id > header->strings_used.load(std::memory_order_acquire)) return nullptr;
  const char* entry = Bytes(header) + Offsets(header)[id - 1];
  memcpy(length, entry, 4);
  return entry + 4;
}

uint32_t InternString(const char* text, uint32_t length) noexcept {
  if (g_epoch->epoch.load(std::memory_order_acquire) == 0 || text == nullptr) return 0;
  if (length > kLongestString) length = kLongestString;
  uint32_t unlocked = 0;
  while (!g_lock.compare_exchange_weak(unlocked, 1, std::memory_order_acquire)) {
    unlocked = 0;
    RawSyscall(SYS_sched_yield);
  }
  const uint32_t id = InternLocked(g_header, text, length);
  g_lock.store(0, std::memory_order_release);
  return id;
}

uint32_t InternShape(const uint32_t grid_block[6]) noexcept {
  return InternString(reinterpret_cast<const char*>(grid_block), 6 * sizeof(uint32_t));
}

}  // namespace stallscope::agent
