// When the driver loaded or compiled code on a thread: stretches inside the thread's calls, told of by CUPTI's records
// some time after the calls themselves.
//
// Written by: Timeline. Read by: budget (a launch that loads code is host.module_load for that long). Single thread.
// Bounded: what passes the caps is forgotten, oldest first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

// Concluded from the length of the first launch of a kernel, not told.
inline constexpr wire::CodeLoadKind kFirstLaunch{0};

struct CodeSpan {
  HostNs begin = 0, end = 0;
  wire::CodeLoadKind kind = wire::CodeLoadKind::kModule;
};

class CodeSpans {
 public:
  static constexpr size_t kMaxOfThread = 4096, kMaxWaiting = 1024;

  void Add(ThreadIndex thread, const CodeSpan& span) {
    std::vector<CodeSpan>& spans = spans_[thread];
    const auto after = std::upper_bound(spans.begin(), spans.end(), span,
                                        [](const CodeSpan& a, const CodeSpan& b) { return a.begin < b.begin; });
    spans.insert(after, span);
    if (spans.size() > kMaxOfThread) spans.erase(spans.begin());
  }
  // Whose thread is not known yet.
  void Wait(const CodeLoadEvent& load) {
    waiting_.push_back(load);
    if (waiting_.size() > kMaxWaiting) waiting_.pop_front();
  }
  std::deque<CodeLoadEvent>& waiting() { return waiting_; }

  // By begin; they may overlap (a compilation inside a load). Empty when there are none.
  const std::vector<CodeSpan>& Of(ThreadIndex thread) const {
    static const std::vector<CodeSpan> kNone;
    const auto found = spans_.find(thread);
    return found == spans_.end() ? kNone : found->second;
  }

  void DropBefore(HostNs at) {
    for (auto spans = spans_.begin(); spans != spans_.end();) {
      std::vector<CodeSpan>& list = spans->second;
      list.erase(std::remove_if(list.begin(), list.end(), [at](const CodeSpan& span) { return span.end < at; }),
                 list.end());
      if (list.empty()) {
        spans_.erase(spans++);
      } else {
        ++spans;
      }
    }
    while (!waiting_.empty() && waiting_.front().end < at) waiting_.pop_front();
  }

 private:
  absl::flat_hash_map<ThreadIndex, std::vector<CodeSpan>> spans_;
  std::deque<CodeLoadEvent> waiting_;
};

}  // namespace stallscope
