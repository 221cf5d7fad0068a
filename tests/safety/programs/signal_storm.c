/* A handler at some 20 kHz that posts, polls and tries locks while the main thread does the same. */
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "check.h"
static sem_t semaphore;
static int epoll_fd;
static volatile long posted;
static void handler(int signal) {
  (void)signal;
  int error = errno;
  struct epoll_event event;
  sem_post(&semaphore);
  ++posted;
  epoll_wait(epoll_fd, &event, 1, 0);
  errno = error;
}
int main(void) {
  sem_init(&semaphore, 0, 0);
  epoll_fd = epoll_create1(0);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  long taken = 0;
  struct epoll_event event;
  while (taken < 4000) {
    if (sem_wait(&semaphore) == 0) ++taken;
    epoll_wait(epoll_fd, &event, 1, 0);
    sched_yield();
  }
  setitimer(ITIMER_REAL, &never, NULL);
  while (sem_trywait(&semaphore) == 0) ++taken;
  SEE(taken == posted);
  return 0;
}
