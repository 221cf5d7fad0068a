/* A robust mutex whose owner died: EOWNERDEAD must come once, and not be retried into a deadlock. */
#include "check.h"
#include "tests/sleeping_thread.h"
static pthread_mutex_t mutex;
static void *die_owning(void *argument) {
  pthread_mutex_lock(&mutex);
  return argument;
}
/* Dies owning it while the other one waits for it. */
static void *die_while_waited_for(void *argument) {
  pthread_mutex_lock(&mutex);
  pthread_barrier_wait(argument);
  const pid_t first = getpid();
  while (!SleepsInKernel(first)) sleep_ms(1);
  return NULL;
}
int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_t thread;
  pthread_create(&thread, NULL, die_owning, NULL);
  pthread_join(thread, NULL);
  SEE(pthread_mutex_lock(&mutex) == EOWNERDEAD);
  SEE(pthread_mutex_consistent(&mutex));
  SEE(pthread_mutex_unlock(&mutex));
  SEE(pthread_mutex_lock(&mutex));
  SEE(pthread_mutex_unlock(&mutex));
  pthread_barrier_t owned;
  pthread_barrier_init(&owned, NULL, 2);
  for (int kind = 0; kind < 3; ++kind) {
    const struct timespec late = after_ms(CLOCK_REALTIME, 30000), late_monotonic = after_ms(CLOCK_MONOTONIC, 30000);
    pthread_create(&thread, NULL, die_while_waited_for, &owned);
    pthread_barrier_wait(&owned);
    if (kind == 0) SEE(pthread_mutex_lock(&mutex) == EOWNERDEAD);
    if (kind == 1) SEE(pthread_mutex_timedlock(&mutex, &late) == EOWNERDEAD);
    if (kind == 2) SEE(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &late_monotonic) == EOWNERDEAD);
    SEE(pthread_mutex_consistent(&mutex));
    SEE(pthread_mutex_unlock(&mutex));
    pthread_join(thread, NULL);
  }
  pthread_create(&thread, NULL, die_owning, NULL);
  pthread_join(thread, NULL);
  struct timespec soon = after_ms(CLOCK_REALTIME, 500);
  SEE(pthread_mutex_timedlock(&mutex, &soon) == EOWNERDEAD);
  SEE(pthread_mutex_unlock(&mutex)); /* without consistent: not recoverable from now on */
  SEE(pthread_mutex_lock(&mutex) == ENOTRECOVERABLE);
  return 0;
}
