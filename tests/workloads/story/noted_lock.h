// A mutex that tells the truth of the run who waited for whom.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_NOTED_LOCK_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_NOTED_LOCK_H_

#include <mutex>

#include "tests/workloads/truth_note.h"

namespace workloads {

class NotedLock {
 public:
  void lock() {
    if (mutex_.try_lock()) return;
    const uint64_t begin_ns = NowNs();
    mutex_.lock();
    NoteBlocked("lock", begin_ns, unlocked_at_ns_, NowNs(), unlocked_by_);
  }
  void unlock() {
    unlocked_at_ns_ = NowNs();
    unlocked_by_ = ThreadId();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;  // guards the rest
  uint64_t unlocked_at_ns_ = 0;
  int unlocked_by_ = 0;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_NOTED_LOCK_H_
