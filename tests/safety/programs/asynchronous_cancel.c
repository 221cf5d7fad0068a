/* A thread that may be cancelled at any instruction, also inside a hook. */
#include <sched.h>

#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int started;
static void *spin(void *argument) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  __atomic_store_n(&started, 1, __ATOMIC_SEQ_CST);
  for (;;) sched_yield();
  return argument;
}
int main(void) {
  int cancelled = 0;
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    void *result = NULL;
    started = 0;
    MUST(pthread_create(&thread, NULL, spin, NULL) == 0);
    while (!__atomic_load_n(&started, __ATOMIC_SEQ_CST)) sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  SEE(cancelled);
  return 0;
}
