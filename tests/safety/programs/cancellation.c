/* Cancelled in each kind of wait: cleanup handlers run, the mutex is in the right state, the thread that takes the slot
 * over works. */
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int ends[2], sockets[2], epoll_fd, cleaned, waiting;
static void unlock(void *argument) {
  ++cleaned;
  pthread_mutex_unlock(argument);
}
static void note(void *argument) {
  (void)argument;
  ++cleaned;
}
static void *wait_for(void *argument) {
  char byte;
  struct epoll_event event;
  struct pollfd fd = {ends[0], POLLIN, 0};
  fd_set set;
  int kind = (int)(intptr_t)argument;
  if (kind < 3) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    __atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
    struct timespec late = after_ms(CLOCK_REALTIME, 100000), late_monotonic = after_ms(CLOCK_MONOTONIC, 100000);
    for (;;) {
      if (kind == 0) pthread_cond_wait(&condition, &mutex);
      if (kind == 1) pthread_cond_timedwait(&condition, &mutex, &late);
      if (kind == 2) pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &late_monotonic);
    }
    pthread_cleanup_pop(0);
  }
  pthread_cleanup_push(note, NULL);
  __atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
  for (;;) {
    struct timespec hundred_s = {100, 0};
    switch (kind) {
      case 3:
        sem_wait(&semaphore);
        break;
      case 4:
        read(ends[0], &byte, 1);
        break;
      case 5:
        recv(sockets[0], &byte, 1, 0);
        break;
      case 6:
        epoll_wait(epoll_fd, &event, 1, -1);
        break;
      case 7:
        poll(&fd, 1, -1);
        break;
      case 8:
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        select(ends[0] + 1, &set, NULL, NULL, NULL);
        break;
      case 9:
        nanosleep(&hundred_s, NULL);
        break;
      case 10:
        clock_nanosleep(CLOCK_MONOTONIC, 0, &hundred_s, NULL);
        break;
      case 11:
        usleep(900000);
        break;
    }
  }
  pthread_cleanup_pop(0);
  return NULL;
}
static void *pending(void *argument) {
  (void)argument;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cancel(pthread_self());
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  sem_wait(&semaphore); /* could be taken at once, and is a cancellation point all the same */
  return NULL;
}
int main(void) {
  sem_init(&semaphore, 0, 0);
  MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  epoll_fd = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {0}};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ends[0], &event);
  for (int round = 0; round < 3; ++round) {
    for (intptr_t kind = 0; kind < 12; ++kind) {
      pthread_t thread;
      void *result = NULL;
      cleaned = waiting = 0;
      MUST(pthread_create(&thread, NULL, wait_for, (void *)kind) == 0);
      while (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST)) sched_yield();
      sleep_ms(2);
      MUST(pthread_cancel(thread) == 0);
      MUST(pthread_join(thread, &result) == 0);
      if (round == 0) printf("kind %d: cancelled %d cleaned %d\n", (int)kind, result == PTHREAD_CANCELED, cleaned);
      MUST(pthread_mutex_trylock(&mutex) == 0);
      pthread_mutex_unlock(&mutex);
    }
  }
  sem_post(&semaphore);
  pthread_t thread;
  void *result = NULL;
  pthread_create(&thread, NULL, pending, NULL);
  pthread_join(thread, &result);
  SEE(result == PTHREAD_CANCELED);
  int value = -1;
  sem_getvalue(&semaphore, &value);
  SEE(value);
  return 0;
}
