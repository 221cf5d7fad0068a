// Blocks in known functions: usage known_stack LOCK_MS TIMES [RING_DEPTH].
//
// TIMES times, a holder keeps engine::Scheduler::queue_mutex_ for LOCK_MS milliseconds more once a second thread sleeps in
// engine::Scheduler::TakeNextRequest(), which asks for it. The address of the mutex is printed first.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/sleeping_thread.h"

namespace engine {

void Pause(long milliseconds) {
  const timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
}

class Scheduler {
 public:
  __attribute__((noinline)) int TakeNextRequest(int depth) {
    if (depth > 0) return TakeNextRequest(depth - 1) + 1;
    asking_.store(gettid());
    pthread_mutex_lock(&queue_mutex_);
    const int taken = ++taken_;
    pthread_mutex_unlock(&queue_mutex_);
    return taken;
  }
  __attribute__((noinline)) void HoldFor(long milliseconds) {
    pthread_mutex_lock(&queue_mutex_);
    asking_.store(0);
    pthread_barrier_wait(&both_);
    while (asking_.load() == 0 || !SleepsInKernel(asking_.load())) Pause(1);
    Pause(milliseconds);
    pthread_mutex_unlock(&queue_mutex_);
    pthread_barrier_wait(&both_);  // until the other one has had it
  }
  void WaitForBoth() { pthread_barrier_wait(&both_); }
  void* mutex() { return &queue_mutex_; }
  Scheduler() { pthread_barrier_init(&both_, nullptr, 2); }

 private:
  pthread_mutex_t queue_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_barrier_t both_;
  std::atomic<pid_t> asking_ = 0;
  int taken_ = 0;
};

}  // namespace engine

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long lock_ms = atol(argv[1]), times = atol(argv[2]);
  const int depth = argc > 3 ? atoi(argv[3]) : 3;
  engine::Scheduler scheduler;
  printf("%p\n", scheduler.mutex());
  fflush(stdout);
  std::thread taker([&] {
    for (long i = 0; i < times; ++i) {
      scheduler.WaitForBoth();
      scheduler.TakeNextRequest(depth);
      scheduler.WaitForBoth();
    }
  });
  for (long i = 0; i < times; ++i) scheduler.HoldFor(lock_ms);
  taker.join();
  return 0;
}
