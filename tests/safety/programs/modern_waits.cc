// Waits of C++20's library, each ended by a second thread: none of them is a call that older tools look at. Prints "NAME
// OBJECT WOKEN" like each_wait.c, NAME being what the agent must have seen.
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

template <typename Wait, typename End>
static void With(const char* name, const void* object, Wait wait, End end) {
  std::thread helper([&] { usleep(20000), end(); });
  wait();
  helper.join();
  std::printf("%s %lu 1\n", name, reinterpret_cast<unsigned long>(object));
}

int main() {
  std::atomic<int> word = 0;
  With(
      "futex", &word, [&] { word.wait(0); }, [&] { word = 1, word.notify_one(); });
  std::counting_semaphore<8> semaphore(0);
  // The counter is the semaphore's first member.
  With(
      "futex", &semaphore, [&] { semaphore.acquire(); }, [&] { semaphore.release(); });
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  With(
      "pthread_cond_clockwait", &condition,
      [&] {
        std::unique_lock lock(mutex);
        condition.wait_for(lock, 60s, [&] { return ready; });
      },
      [&] {
        std::lock_guard guard(mutex);
        ready = true;
        condition.notify_all();
      });
  std::timed_mutex timed;
  std::latch taken(1);
  std::thread holder([&] {
    timed.lock(), taken.count_down();
    usleep(20000);
    timed.unlock();
  });
  taken.wait();
  timed.try_lock_for(60s) ? timed.unlock() : (void)std::puts("timed_mutex: not taken");
  holder.join();
  std::printf("pthread_mutex_clocklock %lu 1\n", reinterpret_cast<unsigned long>(&timed));
  std::shared_timed_mutex shared;
  std::latch shared_taken(1);
  std::thread writer([&] {
    shared.lock(), shared_taken.count_down();
    usleep(20000);
    shared.unlock();
  });
  shared_taken.wait();
  shared.try_lock_shared_for(60s) ? shared.unlock_shared() : (void)std::puts("shared_timed_mutex: not taken");
  writer.join();
  std::printf("pthread_rwlock_clockrdlock 0 1\n");
  return 0;
}
