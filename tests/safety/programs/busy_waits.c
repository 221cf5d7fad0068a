/* Two threads that hand a token to and fro over a semaphore pair and an eventfd in an epoll set, for ever or N times;
   prints how often. Used by the tests that kill it, take its collector away or count its records. */
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "check.h"
static sem_t ping, pong;
static int event_fd, epoll_fd;
static long rounds = -1;

static void *partner(void *argument) {
  uint64_t one = 1;
  for (long i = 0; i != rounds; ++i) {
    sem_wait(&ping);
    if (i % 4 == 3) {
      if (write(event_fd, &one, sizeof(one)) != sizeof(one)) abort();
    } else {
      sem_post(&pong);
    }
  }
  return argument;
}
int main(int argc, char **argv) {
  if (argc > 1) rounds = atol(argv[1]);
  sem_init(&ping, 0, 0);
  sem_init(&pong, 0, 0);
  event_fd = eventfd(0, 0);
  epoll_fd = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {0}};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &event);
  pthread_t thread;
  pthread_create(&thread, NULL, partner, NULL);
  if (rounds < 0) {
    printf("started\n");
    fflush(stdout);
  }
  for (long i = 0; i != rounds; ++i) {
    sem_post(&ping);
    if (i % 4 == 3) {
      uint64_t value;
      while (epoll_wait(epoll_fd, &event, 1, -1) != 1) {
      }
      if (read(event_fd, &value, sizeof(value)) != sizeof(value)) abort();
    } else {
      sem_wait(&pong);
    }
  }
  pthread_join(thread, NULL);
  printf("done %ld\n", rounds);
  return 0;
}
