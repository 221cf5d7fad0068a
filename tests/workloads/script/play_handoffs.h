// Mutexes and queues between the threads of a script, made of pthreads so that a preloaded agent sees their waits; and
// whose turn it is where threads have clocks of their own. There, who waited goes on at the moment of who let it go, and
// each statement is done in order of its moment, so that a play is the same however the machine schedules the threads.
#ifndef STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_HANDOFFS_H_
#define STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_HANDOFFS_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/workloads/script/play_clock.h"

namespace workloads::script {

// How many threads of the script wait for another, and how often one went on: who watches can tell that all are stuck.
struct Progress {
  std::atomic<int> waiting{0};
  std::atomic<uint64_t> went_on{0};
};

// Any thread. On the monotonic clock everybody's turn is always.
class Turns {
 public:
  Turns(size_t threads, bool in_order) : in_order_(in_order), now_ns_(threads) {}

  bool in_order() const { return in_order_; }
  // Blocks until no thread that can go on is at an earlier moment; of two at the same the first in the script is first.
  void Wait(size_t thread, uint64_t now_ns);
  void Leave(size_t thread);                   // it waits for another thread, or has ended
  void Enter(size_t thread, uint64_t now_ns);  // by who lets it go on, at the moment at which it does

 private:
  const bool in_order_;
  std::vector<std::atomic<uint64_t>> now_ns_;
};

// What a playing thread waits with.
struct Seat {
  size_t thread = 0;
  pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
  // Guarded by the mutex of what it waits for.
  bool granted = false;
  uint64_t now_ns = 0;  // its moment when it began to wait; then the moment at which it goes on
};

class Handoffs {
 public:
  Handoffs(const PlayClock& clock, size_t threads, bool in_order) : clock_(clock), turns_(threads, in_order) {}

  Turns& turns() { return turns_; }
  Progress& progress() { return progress_; }

  // Under `mutex`: waits until another thread grants the seat, which it has taken out of its list by then.
  void Sit(Seat* seat, std::deque<Seat*>* waiting, pthread_mutex_t* mutex);
  // Under the same mutex: lets the first of them go on.
  void Grant(std::deque<Seat*>* waiting, uint64_t now_ns);

  const PlayClock& clock() const { return clock_; }

 private:
  const PlayClock& clock_;
  Turns turns_;
  Progress progress_;
};

class PlayMutex {
 public:
  void Lock(Seat* seat, Handoffs* handoffs);
  void Unlock(Handoffs* handoffs);

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  // On clocks of their own, guarded by mutex_: it is handed to who waits longest.
  bool locked_ = false;
  std::deque<Seat*> waiting_;
};

class PlayQueue {
 public:
  explicit PlayQueue(uint64_t capacity) : capacity_(capacity) {}

  void Put(Seat* seat, Handoffs* handoffs);
  void Take(Seat* seat, Handoffs* handoffs);

 private:
  const uint64_t capacity_;  // 0: unlimited
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  // Guarded by mutex_.
  std::deque<Seat*> takers_, putters_;  // who wait: for an item, for room
  std::deque<uint64_t> put_ns_;         // of the items
};

}  // namespace workloads::script

#endif  // STALLSCOPE_TESTS_WORKLOADS_SCRIPT_PLAY_HANDOFFS_H_
