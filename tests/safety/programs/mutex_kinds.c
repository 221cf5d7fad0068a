/* Error-checking, recursive, adaptive, priority-inheriting and priority-protected mutexes, contended and not. */
#include <sched.h>

#include "check.h"
static pthread_mutex_t mutex;
static long counter;
static void *count(void *argument) {
  for (int i = 0; i < 20000; ++i) {
    MUST(pthread_mutex_lock(&mutex) == 0);
    ++counter;
    MUST(pthread_mutex_unlock(&mutex) == 0);
  }
  return argument;
}
static void *try_to_unlock(void *argument) {
  *(int *)argument = pthread_mutex_unlock(&mutex);
  return NULL;
}
static void contend(const char *name) {
  counter = 0;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) MUST(pthread_create(&threads[i], NULL, count, NULL) == 0);
  for (int i = 0; i < 4; ++i) MUST(pthread_join(threads[i], NULL) == 0);
  printf("%s %ld\n", name, counter);
}
static void make(int type, int protocol) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  MUST(pthread_mutexattr_settype(&attributes, type) == 0);
  MUST(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
  if (protocol == PTHREAD_PRIO_PROTECT)
    pthread_mutexattr_setprioceiling(&attributes, sched_get_priority_min(SCHED_FIFO));
  MUST(pthread_mutex_init(&mutex, &attributes) == 0);
}
int main(void) {
  pthread_t thread;
  int result = -1;
  make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE);
  SEE(pthread_mutex_lock(&mutex));
  SEE(pthread_mutex_lock(&mutex) == EDEADLK);
  struct timespec soon = after_ms(CLOCK_REALTIME, 5);
  SEE(pthread_mutex_timedlock(&mutex, &soon) == EDEADLK);
  pthread_create(&thread, NULL, try_to_unlock, &result);
  pthread_join(thread, NULL);
  SEE(result == EPERM);
  SEE(pthread_mutex_unlock(&mutex));
  SEE(pthread_mutex_unlock(&mutex) == EPERM);
  contend("errorcheck");
  make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE);
  for (int i = 0; i < 1000; ++i) MUST(pthread_mutex_lock(&mutex) == 0);
  for (int i = 0; i < 1000; ++i) MUST(pthread_mutex_unlock(&mutex) == 0);
  SEE(pthread_mutex_unlock(&mutex) == EPERM);
  MUST(pthread_mutex_lock(&mutex) == 0);
  const unsigned depth = mutex.__data.__count;
  mutex.__data.__count = ~0u; /* as after four billion locks */
  SEE(pthread_mutex_lock(&mutex) == EAGAIN);
  SEE(pthread_mutex_trylock(&mutex) == EAGAIN);
  soon = after_ms(CLOCK_REALTIME, 5);
  SEE(pthread_mutex_timedlock(&mutex, &soon) == EAGAIN);
  mutex.__data.__count = depth;
  SEE(pthread_mutex_unlock(&mutex));
  SEE(pthread_mutex_unlock(&mutex) == EPERM);
  contend("recursive");
  make(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE);
  contend("adaptive");
  make(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
  contend("inherit");
  SEE(pthread_mutex_lock(&mutex));
  soon = after_ms(CLOCK_REALTIME, 5);
  SEE(pthread_mutex_timedlock(&mutex, &soon)); /* its own lock once more: what the kernel says of that */
  SEE(pthread_mutex_unlock(&mutex));
  make(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT);
  const int may = pthread_mutex_lock(&mutex); /* EPERM, EINVAL or 0 by what this user may do: the same in both runs */
  SEE(may);
  if (may == 0) {
    SEE(pthread_mutex_unlock(&mutex));
    contend("protect");
  }
  make(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
  SEE(pthread_mutex_lock(&mutex));
  soon = after_ms(CLOCK_REALTIME, 5);
  SEE(pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT);
  soon = after_ms(CLOCK_MONOTONIC, 5);
  SEE(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  struct timespec bad = {0, 1000000001};
  SEE(pthread_mutex_timedlock(&mutex, &bad) == EINVAL);
  SEE(pthread_mutex_unlock(&mutex));
  SEE(pthread_mutex_timedlock(&mutex, &bad)); /* free: the deadline is not looked at */
  SEE(pthread_mutex_unlock(&mutex));
  SEE(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &soon) == EINVAL);
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  SEE(pthread_rwlock_wrlock(&rwlock));
  SEE(pthread_rwlock_rdlock(&rwlock) == EDEADLK);
  SEE(pthread_rwlock_wrlock(&rwlock) == EDEADLK);
  SEE(pthread_rwlock_unlock(&rwlock));
  SEE(pthread_rwlock_rdlock(&rwlock));
  SEE(pthread_rwlock_rdlock(&rwlock));
  SEE(pthread_rwlock_unlock(&rwlock) + pthread_rwlock_unlock(&rwlock));
  return 0;
}
