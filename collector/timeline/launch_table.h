// Joins a launching call and the GPU records of its work by correlation id, whichever comes first.
//
// Written by: Timeline. Read by: budget. Single thread. Ids are CUPTI's, unique within a process.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

struct Launch {
  ThreadIndex thread = 0;                               // 0: the call is not known (yet)
  uint32_t expected = 1;                                // records that its work will make
  bool whole_graph = false;                             // a graph traced as one: one record is all
  bool first_of_kernel = false;                         // the process ran this kernel for the first time
  uint32_t records = 0;                                 // ... that came
  uint32_t device = 0;                                  // of the first record
  uint32_t stream = 0;                                  // CUPTI's number, of the first record
  wire::CopyKind copy_kind = wire::CopyKind::kUnknown;  // of the first record
  uint64_t call_number = 0;
  uint64_t stream_handle = 0;
  uint64_t graph_exec = 0;    // graph launches: the executable graph's handle
  HostNs begin = 0, end = 0;  // of the call
  HostNs first_op_begin = INT64_MAX, last_op_end = INT64_MIN;
};

// Ids count up, so neighbours in time are neighbours in memory: pages of a few ids, found through a hash map and a small
// cache in front of it. (One entry an id in the hash map itself cost a third of the collector's time in cache misses.) The
// page is small because ids come from outside: far-apart ones must not cost much more than themselves.
class LaunchTable {
 public:
  Launch& At(uint32_t correlation) {
    Page* page = FindPage(correlation / kPageIds);
    if (page == nullptr) page = AddPage(correlation / kPageIds);
    const uint32_t bit = 1u << (correlation % kPageIds);
    if ((page->used & bit) == 0) {
      page->used |= bit;
      page->launches[correlation % kPageIds] = Launch{};
      ++size_;
    }
    return page->launches[correlation % kPageIds];
  }
  // nullptr when nothing is known of it.
  const Launch* Find(uint32_t correlation) const {
    if (correlation == 0) return nullptr;
    const Page* page = FindPage(correlation / kPageIds);
    if (page == nullptr || (page->used >> (correlation % kPageIds) & 1) == 0) return nullptr;
    return &page->launches[correlation % kPageIds];
  }
  void Forget(uint32_t correlation) {
    const uint32_t number = correlation / kPageIds;
    Page* page = FindPage(number);
    const uint32_t bit = 1u << (correlation % kPageIds);
    if (page == nullptr || (page->used & bit) == 0) return;
    page->used &= ~bit;
    --size_;
    if (page->used != 0) return;
    const auto found = pages_.find(number);
    if (spare_.size() < kSpare) spare_.push_back(std::move(found->second));
    pages_.erase(found);
    cache_[number % kCached] = {number, nullptr};
  }
  size_t size() const { return size_; }

 private:
  static constexpr uint32_t kPageIds = 32;
  static constexpr uint32_t kCached = 4096;
  static constexpr size_t kSpare = 64;
  struct Page {
    uint32_t used = 0;  // one bit an id
    std::array<Launch, kPageIds> launches;
  };
  // Also remembers that there is no such page: waits ask for work that is long done.
  struct Cached {
    uint32_t number = UINT32_MAX;  // above any page's
    Page* page = nullptr;
  };

  Page* FindPage(uint32_t number) const {
    Cached& cached = cache_[number % kCached];
    if (cached.number == number) return cached.page;
    const auto found = pages_.find(number);
    cached = {number, found == pages_.end() ? nullptr : found->second.get()};
    return cached.page;
  }
  Page* AddPage(uint32_t number) {
    std::unique_ptr<Page> page;
    if (spare_.empty()) {
      page = std::make_unique<Page>();
    } else {
      page = std::move(spare_.back());
      spare_.pop_back();
    }
    Page* const raw = page.get();
    pages_.emplace(number, std::move(page));
    cache_[number % kCached] = {number, raw};
    return raw;
  }

  absl::flat_hash_map<uint32_t, std::unique_ptr<Page>> pages_;
  mutable std::array<Cached, kCached> cache_{};
  std::vector<std::unique_ptr<Page>> spare_;
  size_t size_ = 0;
};

}  // namespace stallscope
