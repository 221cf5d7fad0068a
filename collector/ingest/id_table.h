// A table from small integer ids to values, filled in any order: pages made on demand, two loads a lookup.
//
// Single thread. Values never move. Memory is counted, so that the owner can stop a peer that spreads its ids over all
// pages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collector/ingest/limits.h"

namespace stallscope::ingest {

template <typename T>
class IdTable {
 public:
  // nullptr when nothing was ever set near `id`; else the value, T{} when it was not set itself.
  const T* Find(uint32_t id) const {
    const uint32_t page = id / kPageEntries;
    return page < pages_.size() && pages_[page] != nullptr ? &(*pages_[page])[id % kPageEntries] : nullptr;
  }

  T Get(uint32_t id) const {
    const T* found = Find(id);
    return found == nullptr ? T{} : *found;
  }

  // The place of `id`, made when needed. id < kIdLimit.
  T& At(uint32_t id) {
    const uint32_t page = id / kPageEntries;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page] == nullptr) {
      pages_[page] = std::make_unique<Page>();
      bytes_ += sizeof(Page);
    }
    return (*pages_[page])[id % kPageEntries];
  }

  bool HasPage(uint32_t id) const { return Find(id) != nullptr; }
  static constexpr size_t PageBytes() { return sizeof(Page); }
  size_t bytes() const { return bytes_ + pages_.capacity() * sizeof(pages_[0]); }

 private:
  static constexpr uint32_t kPageEntries = 512;
  using Page = std::array<T, kPageEntries>;
  std::vector<std::unique_ptr<Page>> pages_;
  size_t bytes_ = 0;
};

}  // namespace stallscope::ingest
