// Hooks called by destructors of objects that live as long as a thread or the program: thread_local ones of the first thread and of
// others, static ones, and one whose thread leaves by pthread_exit.
#include <poll.h>
#include <semaphore.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "check.h"

namespace {

class WaitsInTheEnd {
 public:
  explicit WaitsInTheEnd(const char* name) : name_(name) {}
  ~WaitsInTheEnd() {
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock<std::mutex> lock(mutex);
    const bool late = condition.wait_for(lock, std::chrono::milliseconds(1)) == std::cv_status::timeout;
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    std::thread poster([&semaphore] { sem_post(&semaphore); });
    const int taken = sem_wait(&semaphore);
    poster.join();
    printf("%s: late %d, taken %d, poll %d\n", name_, late, taken, poll(nullptr, 0, 1));
  }
  void Touch() { ++touched_; }

 private:
  const char* name_;
  int touched_ = 0;
};

WaitsInTheEnd g_object("static object");
thread_local WaitsInTheEnd t_object("thread's object");

void* LeavesByExit(void*) {
  t_object.Touch();
  pthread_exit(nullptr);
}

}  // namespace

int main() {
  g_object.Touch();
  t_object.Touch();
  std::thread([] { t_object.Touch(); }).join();
  pthread_t thread;
  pthread_create(&thread, nullptr, LeavesByExit, nullptr);
  pthread_join(thread, nullptr);
  printf("main ends\n");
  return 0;
}
