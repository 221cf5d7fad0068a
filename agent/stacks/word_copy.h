// Copying and comparing without memcpy and memcmp: those may be a sanitizer's or a profiler's, to which what this folder does
// with other people's stacks is an overflow or a race.
#pragma once

#include <cstdint>

namespace stallscope::agent {

inline void CopyWords(void* to, const void* from, uint64_t words) noexcept {
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

inline bool SameWords(const uint64_t* a, const uint64_t* b, uint64_t words) noexcept {
  uint64_t differences = 0;
  for (uint64_t i = 0; i < words; ++i) differences |= a[i] ^ b[i];
  return differences == 0;
}

}  // namespace stallscope::agent
