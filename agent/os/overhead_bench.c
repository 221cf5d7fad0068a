/* Times hooked calls in a tight loop; overhead_bench.py runs it plain and with the agent and prints the difference.
 *
 * usage: overhead_bench SCALE     (1: full length; 0.01: a smoke run)
 * Prints "NAME NS" per line: the fastest of many short runs, in ns a call (a mutex pair is two calls). The one below
 * the line of the machine's noise is the fastest: others share the machine. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int epoll_fd, event_fd, null_fd;

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

static void mutex_pair(long n) {
  for (long i = 0; i < n; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
}
static void rwlock_pair(long n) {
  for (long i = 0; i < n; ++i) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  }
}
static void semaphore_pair(long n) {
  for (long i = 0; i < n; ++i) {
    sem_post(&semaphore);
    sem_wait(&semaphore);
  }
}
/* A deadline before 1970 has always passed: glibc answers without a system call, so this is the recording alone. */
static void condition_expired(long n) {
  struct timespec past = {-1, 0};
  pthread_mutex_lock(&mutex);
  for (long i = 0; i < n; ++i) pthread_cond_timedwait(&condition, &mutex, &past);
  pthread_mutex_unlock(&mutex);
}
static void epoll_nothing(long n) {
  struct epoll_event event;
  for (long i = 0; i < n; ++i) epoll_wait(epoll_fd, &event, 1, 0);
}
static void poll_nothing(long n) {
  struct pollfd fd = {event_fd, POLLIN, 0};
  for (long i = 0; i < n; ++i) poll(&fd, 1, 0);
}
static void read_nothing(long n) {
  char byte;
  for (long i = 0; i < n; ++i)
    if (read(null_fd, &byte, 1) != 0) abort();
}
static void write_nothing(long n) {
  for (long i = 0; i < n; ++i)
    if (write(null_fd, "x", 1) != 1) abort();
}
static void yield(long n) {
  for (long i = 0; i < n; ++i) sched_yield();
}

static void report(const char *name, void (*run)(long), long calls, double scale) {
  double fastest = 1e18;
  int runs = scale < 0.1 ? 5 : 60;
  for (int i = 0; i < runs; ++i) {
    double begin = now_ns();
    run(calls);
    double each = (now_ns() - begin) / calls;
    if (each < fastest) fastest = each;
  }
  printf("%s %.2f\n", name, fastest);
}

int main(int argc, char **argv) {
  double scale = argc > 1 ? atof(argv[1]) : 1;
  sem_init(&semaphore, 0, 0);
  epoll_fd = epoll_create1(0);
  event_fd = eventfd(0, 0);
  null_fd = open("/dev/null", O_RDWR);
  report("mutex_pair", mutex_pair, 100000 * scale + 1000, scale);
  report("rwlock_pair", rwlock_pair, 100000 * scale + 1000, scale);
  report("semaphore_pair", semaphore_pair, 100000 * scale + 1000, scale);
  report("cond_timedwait", condition_expired, 3000, scale);
  report("epoll_wait_0", epoll_nothing, 3000, scale);
  report("poll_0", poll_nothing, 3000, scale);
  report("read", read_nothing, 3000, scale);
  report("write", write_nothing, 3000, scale);
  report("sched_yield", yield, 3000, scale);
  return 0;
}
