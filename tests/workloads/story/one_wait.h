// One kind of blocking call, made to last about as long as asked for. Belongs to one thread.
#ifndef STALLSCOPE_TESTS_WORKLOADS_STORY_ONE_WAIT_H_
#define STALLSCOPE_TESTS_WORKLOADS_STORY_ONE_WAIT_H_

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "tests/workloads/story/published.h"

namespace workloads {

class OneWait {
 public:
  explicit OneWait(OsRow row);
  OneWait(const OneWait&) = delete;
  OneWait& operator=(const OneWait&) = delete;
  ~OneWait();

  // Blocks for about `ns` in the row's call and returns how long the call took.
  uint64_t Block(uint64_t ns);

 private:
  void ArmTimer(uint64_t ns);
  uint64_t BlockOnce(uint64_t ns);
  void Post();  // thread: posts the semaphore when it is due, once its waiter waits

  const OsRow row_;
  int timer_fd_ = -1, epoll_fd_ = -1;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
  sem_t semaphore_;
  int futex_word_ = 0;
  std::atomic<uint64_t> post_at_ns_{0};  // 0: nobody waits
  std::atomic<bool> done_{false};
  std::thread poster_;
};

}  // namespace workloads

#endif  // STALLSCOPE_TESTS_WORKLOADS_STORY_ONE_WAIT_H_
