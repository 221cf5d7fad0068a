/* Threads that do nothing but compute, while the main thread marks a step every 10 ms or so.
 *
 * usage: busy_threads THREADS SECONDS */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/marker/stallscope_marker.h"

static int done;

static void *compute(void *unused) {
  (void)unused;
  for (volatile unsigned long i = 0; !__atomic_load_n(&done, __ATOMIC_RELAXED); ++i) {
  }
  return NULL;
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 4, seconds = argc > 2 ? atoi(argv[2]) : 3;
  pthread_t *ids = calloc((size_t)threads, sizeof(*ids));
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, compute, NULL);
  const time_t end = time(NULL) + seconds;
  while (time(NULL) < end) {
    usleep(10000);
    stallscope_step(1);
  }
  __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  puts("busy_threads: done");
  return 0;
}
