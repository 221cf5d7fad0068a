#include "tests/workloads/script/play_handoffs.h"

#include <algorithm>

namespace workloads::script {
namespace {

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

void PlayMutex::Lock(const PlayClock& clock, Progress* progress) {
  {
    Waiting waiting(progress);
    pthread_mutex_lock(&mutex_);
  }
  clock.AtLeast(released_ns_);
}

void PlayMutex::Unlock(const PlayClock& clock) {
  released_ns_ = std::max(released_ns_, clock.NowNs());
  pthread_mutex_unlock(&mutex_);
}

void PlayQueue::Put(const PlayClock& clock, Progress* progress) {
  pthread_mutex_lock(&mutex_);
  if (capacity_ != 0 && put_ns_.size() >= capacity_) {
    Waiting waiting(progress);
    while (put_ns_.size() >= capacity_) pthread_cond_wait(&emptied_, &mutex_);
    clock.AtLeast(taken_ns_);
  }
  put_ns_.push_back(clock.NowNs());
  pthread_cond_signal(&filled_);
  pthread_mutex_unlock(&mutex_);
}

void PlayQueue::Take(const PlayClock& clock, Progress* progress) {
  pthread_mutex_lock(&mutex_);
  {
    Waiting waiting(progress);
    while (put_ns_.empty()) pthread_cond_wait(&filled_, &mutex_);
  }
  clock.AtLeast(put_ns_.front());
  put_ns_.pop_front();
  taken_ns_ = std::max(taken_ns_, clock.NowNs());
  if (capacity_ != 0) pthread_cond_signal(&emptied_);
  pthread_mutex_unlock(&mutex_);
}

}  // namespace workloads::script
