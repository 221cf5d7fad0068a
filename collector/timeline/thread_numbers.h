// Small consecutive numbers for a process's threads.
//
// ThreadIndex is sparse: threads that are read from a process's memory instead of its stream are numbered from far
// above. Behind this border a thread is its number here, so that arrays can be indexed by it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collector/base/event.h"

namespace stallscope {

// Also the names of the process with threads by their small numbers; everything else passes through.
class ThreadNumbers final : public ProcessNames {
 public:
  explicit ThreadNumbers(const ProcessNames* names) : names_(names) {}

  ThreadIndex Of(ThreadIndex thread) {
    if (thread == last_thread_) return last_number_;
    const auto [found, fresh] = numbers_.try_emplace(thread, static_cast<ThreadIndex>(threads_.size()));
    if (fresh) threads_.push_back(thread);
    last_thread_ = thread;
    last_number_ = found->second;
    return last_number_;
  }

  // A thread of another process: a number with a name ("python3[4711] MainThread") and nothing else. The same name, the
  // same number.
  ThreadIndex OfForeign(const std::string& name) {
    const auto [found, fresh] = foreign_.try_emplace(name, static_cast<ThreadIndex>(threads_.size()));
    if (fresh) {
      threads_.push_back(0);
      auto info = std::make_unique<ThreadInfo>();
      info->name = name;
      foreign_threads_[found->second] = std::move(info);
    }
    return found->second;
  }

  bool IsForeign(ThreadIndex number) const { return foreign_threads_.contains(number); }

  std::string_view String(StringId id) const override { return names_ == nullptr ? "" : names_->String(id); }
  std::string_view CallName(wire::CudaDomain domain, uint16_t call) const override {
    return names_ == nullptr ? "" : names_->CallName(domain, call);
  }
  const ThreadInfo* Thread(ThreadIndex number) const override {
    if (const auto foreign = foreign_threads_.find(number); foreign != foreign_threads_.end()) {
      return foreign->second.get();
    }
    return names_ == nullptr || number >= threads_.size() ? nullptr : names_->Thread(threads_[number]);
  }

 private:
  const ProcessNames* names_;
  absl::flat_hash_map<ThreadIndex, ThreadIndex> numbers_;
  std::vector<ThreadIndex> threads_{0};  // by number; 0 stands for no thread
  absl::flat_hash_map<std::string, ThreadIndex> foreign_;
  absl::flat_hash_map<ThreadIndex, std::unique_ptr<ThreadInfo>> foreign_threads_;
  ThreadIndex last_thread_ = UINT32_MAX, last_number_ = 0;  // events come in runs of one thread
};

}  // namespace stallscope
