/* Makes recorded waits at a steady rate: THREADS threads, each RATE a second, for SECONDS. A wait is a pthread_cond_timedwait whose
 * deadline has passed, which glibc answers without a system call: the cheapest thing that is recorded. Each thread sleeps between its
 * bursts, which is one more recorded wait. Prints "waits CALLS seconds S": what was made, and in how long.
 *
 * usage: event_flood THREADS RATE SECONDS [BURST_US]    (the bursts come each so many us, 1000 unless told; 0 threads: the first one does
 * the work itself, in a process of one thread) */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double rate, seconds;
static int64_t burst_ns = 1000000;
static pthread_barrier_t barrier;
static _Atomic long total;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void *make_waits(void *argument) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const struct timespec past = {-1, 0};
  pthread_barrier_wait(&barrier);
  pthread_mutex_lock(&mutex);
  const int64_t begin = now_ns(), end = begin + (int64_t)(seconds * 1e9);
  long made = 0;
  for (int64_t now = begin, next = begin + burst_ns; now < end; next += burst_ns) {
    const long due = (long)((now - begin) * 1e-9 * rate);
    for (; made < due; ++made) pthread_cond_timedwait(&condition, &mutex, &past);
    now = now_ns();
    if (now < next) {
      const struct timespec until = {next / 1000000000, next % 1000000000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
      now = now_ns();
    }
  }
  pthread_mutex_unlock(&mutex);
  total += made;
  return argument;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const int count = atoi(argv[1]);
  pthread_t threads[256];
  if (count < 0 || count > 256) return 2;
  rate = atof(argv[2]), seconds = atof(argv[3]);
  if (argc > 4) burst_ns = atol(argv[4]) * 1000;
  pthread_barrier_init(&barrier, NULL, count + 1);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, make_waits, NULL);
  if (count > 0) pthread_barrier_wait(&barrier);
  const int64_t begin = now_ns();
  if (count == 0) make_waits(NULL);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  printf("waits %ld seconds %.3f\n", total, (now_ns() - begin) * 1e-9);
  return 0;
}
