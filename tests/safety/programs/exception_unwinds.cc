// C++ exceptions and forced unwinding through frames around hooks, std threads and condition variables.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "check.h"

namespace {
struct Tells {
  const char* text;
  ~Tells() { std::printf("destroyed: %s\n", text); }
};
void* Leaves(void*) {
  Tells tells{"in a thread that leaves by pthread_exit"};
  pthread_exit(nullptr);
}
}  // namespace

int main() {
  try {
    std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    Tells tells{"in a frame left by an exception"};
    throw std::runtime_error("thrown");
  } catch (const std::exception& error) {
    std::printf("caught: %s\n", error.what());
  }
  pthread_t thread;
  pthread_create(&thread, nullptr, Leaves, nullptr);
  pthread_join(thread, nullptr);
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock<std::mutex> lock(mutex);
  std::printf("timeout: %d\n", condition.wait_for(lock, std::chrono::milliseconds(5)) == std::cv_status::timeout);
  std::atomic<int> word{0};
  std::thread waker([&word] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    word = 1;
    word.notify_all();
  });
  word.wait(0);  // futex through syscall()
  waker.join();
  std::counting_semaphore<4> semaphore{0};
  std::thread releaser([&semaphore] { semaphore.release(); });
  semaphore.acquire();
  releaser.join();
  std::printf("word: %d\n", word.load());
  return 0;
}
