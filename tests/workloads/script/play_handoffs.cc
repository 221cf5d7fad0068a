#include "tests/workloads/script/play_handoffs.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace workloads::script {
namespace {

constexpr uint64_t kAway = ~uint64_t{0};
constexpr int kYieldsBeforeSleep = 50;

// Past the C library's wrappers: a preloaded agent has no business with how turns are kept.
void LetOthersRun(int round) {
  const timespec pause{0, 50'000};
  if (round < kYieldsBeforeSleep) {
    syscall(SYS_sched_yield);
  } else {
    syscall(SYS_nanosleep, &pause, nullptr);
  }
}

class Locked {
 public:
  explicit Locked(pthread_mutex_t* mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { pthread_mutex_unlock(mutex_); }

 private:
  pthread_mutex_t* const mutex_;
};

class Waiting {
 public:
  explicit Waiting(Progress* progress) : progress_(progress) { progress_->waiting.fetch_add(1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    progress_->went_on.fetch_add(1);
    progress_->waiting.fetch_sub(1);
  }

 private:
  Progress* const progress_;
};

}  // namespace

void Turns::Wait(size_t thread, uint64_t now_ns) {
  if (!in_order_) return;
  now_ns_[thread].store(now_ns, std::memory_order_seq_cst);
  for (size_t other = 0; other < now_ns_.size(); ++other) {
    for (int round = 0;; ++round) {
      const uint64_t other_ns = now_ns_[other].load(std::memory_order_seq_cst);
      if (other_ns > now_ns || (other_ns == now_ns && other >= thread)) break;
      LetOthersRun(round);
    }
  }
}

void Turns::Leave(size_t thread) { now_ns_[thread].store(kAway, std::memory_order_seq_cst); }
void Turns::Enter(size_t thread, uint64_t now_ns) { now_ns_[thread].store(now_ns, std::memory_order_seq_cst); }

void Handoffs::Sit(Seat* seat, std::deque<Seat*>* waiting, pthread_mutex_t* mutex) {
  seat->granted = false;
  seat->now_ns = clock_.NowNs();
  waiting->push_back(seat);
  turns_.Leave(seat->thread);
  {
    Waiting counted(&progress_);
    while (!seat->granted) pthread_cond_wait(&seat->woken, mutex);
  }
  clock_.AtLeast(seat->now_ns);
}

void Handoffs::Grant(std::deque<Seat*>* waiting, uint64_t now_ns) {
  Seat* seat = waiting->front();
  waiting->pop_front();
  seat->now_ns = std::max(seat->now_ns, now_ns);
  seat->granted = true;
  // In its place: nobody may pass it before it has woken up.
  turns_.Enter(seat->thread, seat->now_ns);
  pthread_cond_signal(&seat->woken);
}

void PlayMutex::Lock(Seat* seat, Handoffs* handoffs) {
  if (!handoffs->turns().in_order()) {
    Waiting counted(&handoffs->progress());
    pthread_mutex_lock(&mutex_);
    return;
  }
  Locked locked(&mutex_);
  if (locked_) {
    handoffs->Sit(seat, &waiting_, &mutex_);
  } else {
    locked_ = true;
  }
}

void PlayMutex::Unlock(Handoffs* handoffs) {
  if (!handoffs->turns().in_order()) {
    pthread_mutex_unlock(&mutex_);
    return;
  }
  Locked locked(&mutex_);
  if (waiting_.empty()) {
    locked_ = false;
  } else {
    handoffs->Grant(&waiting_, handoffs->clock().NowNs());
  }
}

void PlayQueue::Put(Seat* seat, Handoffs* handoffs) {
  Locked locked(&mutex_);
  const uint64_t now_ns = handoffs->clock().NowNs();
  if (!takers_.empty()) return handoffs->Grant(&takers_, now_ns);
  if (capacity_ == 0 || put_ns_.size() < capacity_) {
    put_ns_.push_back(now_ns);
  } else {
    handoffs->Sit(seat, &putters_, &mutex_);  // who takes puts its item into the queue
  }
}

void PlayQueue::Take(Seat* seat, Handoffs* handoffs) {
  Locked locked(&mutex_);
  if (put_ns_.empty()) return handoffs->Sit(seat, &takers_, &mutex_);
  handoffs->clock().AtLeast(put_ns_.front());
  put_ns_.pop_front();
  if (putters_.empty()) return;
  const uint64_t now_ns = handoffs->clock().NowNs();
  put_ns_.push_back(now_ns);
  handoffs->Grant(&putters_, now_ns);
}

}  // namespace workloads::script
