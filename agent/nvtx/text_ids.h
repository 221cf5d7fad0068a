// Range names to string ids. NVTX hands out text in memory that the caller may reuse at once, so names are known by
// content: a hash of the bytes in a direct-mapped table of one-word entries, the shared string table (a lock) only at
// first sight.
//
// Any thread. Two texts whose hashes agree in 52 bits would share an id; nothing but a label depends on it.
#pragma once

#include <cstdint>
#include <cwchar>

namespace stallscope::agent {

// 0 for no text, or when the string table is full (counted). At most 1 KiB of a text is kept.
uint32_t TextId(const char* text) noexcept;
uint32_t WideTextId(const wchar_t* text) noexcept;

// The text as UTF-8, without an end mark; cut where it does not fit. Returns its bytes.
uint32_t Utf8Of(const wchar_t* text, char* utf8, uint32_t capacity) noexcept;

}  // namespace stallscope::agent
