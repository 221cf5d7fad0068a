// One slot between two threads, guarded by a mutex and a condition variable: how a scheduler hands a step to an
// executor. Tells the truth of the run who waited for whom.
#ifndef STALLSCOPE_TESTS_WORKLOADS_HANDOFF_H_
#define STALLSCOPE_TESTS_WORKLOADS_HANDOFF_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "tests/workloads/truth_note.h"

namespace workloads {

template <typename T>
class Handoff {
 public:
  // Waits until the slot is empty.
  void Put(T value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !slot_.has_value() || closed_; });
    slot_ = std::move(value);
    NotifyAll();
  }
  // Waits for a value; nothing once closed and empty.
  std::optional<T> Take() {
    std::unique_lock lock(mutex_);
    const uint64_t begin_ns = NowNs();
    bool slept = false;
    while (!slot_.has_value() && !closed_) {
      slept = true;
      changed_.wait(lock);
    }
    if (slept) NoteBlocked("handoff", begin_ns, changed_at_ns_, NowNs(), changed_by_);
    std::optional<T> taken = std::exchange(slot_, std::nullopt);
    NotifyAll();
    return taken;
  }
  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    NotifyAll();
  }

 private:
  void NotifyAll() {
    changed_at_ns_ = NowNs();
    changed_by_ = ThreadId();
    changed_.notify_all();
  }

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::optional<T> slot_;
  bool closed_ = false;
  uint64_t changed_at_ns_ = 0;
  int changed_by_ = 0;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_HANDOFF_H_
