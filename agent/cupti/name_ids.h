// Kernel names to string ids, remembered by pointer.
//
// CUPTI hands out each kernel name as a pointer into memory that it owns and keeps, so the pointer stands for the name:
// the string table (a lock, a hash over the text) is asked once a name. Any thread; one word an entry, so two decoding
// threads cannot tear one. Direct-mapped: a collision asks the table again. Known limit: a library that reuses a name's
// memory after a module was unloaded would show the old name.
#pragma once

#include <atomic>
#include <cstdint>

namespace stallscope::agent {

class NameIds {
 public:
  // 0 when the table is full or there is no name. `name` must stay readable during the call.
  uint32_t IdOf(const char* name) noexcept;

 private:
  static constexpr uint32_t kEntries = 4096;
  // Address bits 12 and up << 24 | id (ids are below 2^24). The entry's place is the address's low 12 bits, so the
  // whole address is compared: user addresses have 47 bits, 35 + 24 fit.
  std::atomic<uint64_t> entries_[kEntries] = {};
};

}  // namespace stallscope::agent
