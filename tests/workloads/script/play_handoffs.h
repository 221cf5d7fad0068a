// Mutexes and queues between the threads of a script, made of pthreads so that a preloaded agent sees their waits. Where
// threads have clocks of their own, who waited goes on at the moment of who let it go. Any thread.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_HANDOFFS_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_HANDOFFS_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>

#include "tests/workloads/script/play_clock.h"

namespace workloads::script {

// How many threads of the script wait for another, and how often one went on: who watches can tell that all are stuck.
struct Progress {
  std::atomic<int> waiting{0};
  std::atomic<uint64_t> went_on{0};
};

class PlayMutex {
 public:
  void Lock(const PlayClock& clock, Progress* progress);
  void Unlock(const PlayClock& clock);

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  uint64_t released_ns_ = 0;  // guarded by mutex_
};

class PlayQueue {
 public:
  explicit PlayQueue(uint64_t capacity) : capacity_(capacity) {}

  void Put(const PlayClock& clock, Progress* progress);
  void Take(const PlayClock& clock, Progress* progress);

 private:
  const uint64_t capacity_;  // 0: unlimited
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t filled_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t emptied_ = PTHREAD_COND_INITIALIZER;
  std::deque<uint64_t> put_ns_;  // guarded by mutex_
  uint64_t taken_ns_ = 0;        // when room was made last
};

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_HANDOFFS_H_
