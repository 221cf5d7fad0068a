/* A robust mutex whose owner died: EOWNERDEAD must come once, and not be retried into a deadlock. */
#include "check.h"
static pthread_mutex_t mutex;
static void *die_owning(void *argument) {
  pthread_mutex_lock(&mutex);
  return argument;
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
  pthread_create(&thread, NULL, die_owning, NULL);
  pthread_join(thread, NULL);
  struct timespec soon = after_ms(CLOCK_REALTIME, 500);
  SEE(pthread_mutex_timedlock(&mutex, &soon) == EOWNERDEAD);
  SEE(pthread_mutex_unlock(&mutex)); /* without consistent: not recoverable from now on */
  SEE(pthread_mutex_lock(&mutex) == ENOTRECOVERABLE);
  return 0;
}
