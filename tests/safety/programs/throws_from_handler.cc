// Exceptions thrown by a signal handler out of waits that the agent hooks: they pass through the hook's frame to the program's
// catch, and the next waits work. Built with -fnon-call-exceptions, as a program that does this must be. The signal is sent
// when the thread sleeps: on the way there are instructions from which even the plain program cannot throw.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "check.h"
#include "tests/sleeping_thread.h"

namespace {

struct Interrupted {
  int signal;
};
int g_destroyed = 0;
struct CountsItsEnd {
  ~CountsItsEnd() { ++g_destroyed; }
};

void Throw(int signal) { throw Interrupted{signal}; }

void WaitForEver(int kind, const int* ends, sem_t* semaphore) {
  CountsItsEnd local;
  char byte;
  pollfd fd = {ends[0], POLLIN, 0};
  if (kind == 0) static_cast<void>(read(ends[0], &byte, 1));
  if (kind == 1) sem_wait(semaphore);
  if (kind == 2) poll(&fd, 1, -1);
  if (kind == 3) usleep(900000);
  for (;;) poll(nullptr, 0, 100);
}

// How many waits the first thread has begun, and how many it was thrown out of.
std::atomic<int> g_begun{0}, g_left{0};

void Disturb(pthread_t first, int times) {
  for (int i = 0; i < times; ++i) {
    while (g_begun.load() <= i || !SleepsInKernel(getpid())) std::this_thread::yield();
    pthread_kill(first, SIGALRM);
    while (g_left.load() <= i) std::this_thread::yield();
  }
}

}  // namespace

int main() {
  int ends[2];
  sem_t semaphore;
  if (pipe(ends) != 0 || sem_init(&semaphore, 0, 0) != 0) return 99;
  struct sigaction action = {};
  action.sa_handler = Throw;
  action.sa_flags = SA_NODEFER;  // the handler never returns
  sigaction(SIGALRM, &action, nullptr);
  constexpr int kTimes = 80;
  std::thread disturber(Disturb, pthread_self(), kTimes);
  int caught = 0;
  for (int i = 0; i < kTimes; ++i) {
    try {
      ++g_begun;
      WaitForEver(i % 4, ends, &semaphore);
    } catch (const Interrupted& interrupted) {
      caught += interrupted.signal == SIGALRM;
    }
    ++g_left;
  }
  disturber.join();
  std::printf("caught %d, destroyed %d\n", caught, g_destroyed);
  sem_post(&semaphore);
  std::printf("semaphore %d, ", sem_wait(&semaphore));
  std::printf("write %d\n", static_cast<int>(write(ends[1], "x", 1)));
  return 0;
}
