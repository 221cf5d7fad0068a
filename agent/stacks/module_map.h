// Which modules are mapped where, and since when: what makes addresses of a stack mean something to a reader.
//
// Streaming thread only. A generation is a stretch in which no module went away: within one, an address belongs to at most
// one module, so a stack says which generation its addresses are of. Modules that come do not begin a new one. Ids are given
// in order of appearance and never again. What does not fit (kMostModules, path memory) is left out: its frames stay numbers.
#pragma once

#include <cstdint>

struct dl_phdr_info;

namespace stallscope::agent {

struct Module {
  uint64_t begin = 0, end = 0;  // of its segments
  uint64_t bias = 0;            // what was added to the file's own addresses
  uint64_t frame_table = 0;     // .eh_frame_hdr's binary search table; 0: none that is understood
  uint32_t frame_table_entries = 0;
  uint64_t frame_header = 0;                           // address of .eh_frame_hdr
  uint32_t first_generation = 0, last_generation = 0;  // 0: still there
  uint32_t build_id_bytes = 0;
  uint8_t build_id[20] = {};
  const char* path = "";
  bool seen = false;                  // in the look that goes on
  uint32_t said = 0;                  // to which connection, and
  uint32_t said_last_generation = 0;  // how far
};

class ModuleMap {
 public:
  static constexpr uint32_t kMostModules = 8192;
  static constexpr uint64_t kPathBytes = 512u << 10;

  bool Create() noexcept;

  // Asks the loader what has changed; cheap when nothing has. True: something went away, so what was concluded from
  // addresses before does not hold any more.
  bool Refresh() noexcept;

  uint32_t generation() const noexcept { return generation_; }
  uint32_t count() const noexcept { return count_; }
  Module* at(uint32_t index) noexcept { return &modules_[index]; }  // id - 1
  // The module mapped there now.
  const Module* Find(uint64_t address) const noexcept;

 private:
  struct Look;
  static int OnModule(dl_phdr_info* info, unsigned long bytes, void* argument) noexcept;
  const char* KeepPath(const char* path) noexcept;

  Module* modules_ = nullptr;
  char* paths_ = nullptr;
  uint64_t path_bytes_ = 0;
  uint32_t count_ = 0, generation_ = 1;
  unsigned long long loads_ = 0, unloads_ = 0;
};

}  // namespace stallscope::agent
