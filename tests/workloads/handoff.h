// One slot between two threads, guarded by a mutex and a condition variable: how a scheduler hands a step to an
// executor.
#ifndef STALLSCOPE_TESTS_WORKLOADS_HANDOFF_H_
#define STALLSCOPE_TESTS_WORKLOADS_HANDOFF_H_

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace workloads {

template <typename T>
class Handoff {
 public:
  // Waits until the slot is empty.
  void Put(T value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !slot_.has_value() || closed_; });
    slot_ = std::move(value);
    changed_.notify_all();
  }
  // Waits for a value; nothing once closed and empty.
  std::optional<T> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return slot_.has_value() || closed_; });
    std::optional<T> taken = std::exchange(slot_, std::nullopt);
    changed_.notify_all();
    return taken;
  }
  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::optional<T> slot_;
  bool closed_ = false;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_HANDOFF_H_
