/* 2,000 threads alive at once, all waiting in a hook. */
#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER, arrived = PTHREAD_COND_INITIALIZER;
static int go, count;
static void *work(void *argument) {
  pthread_mutex_lock(&mutex);
  ++count;
  pthread_cond_signal(&arrived);
  while (!go) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return argument;
}
int main(void) {
  enum { kThreads = 2000 };
  static pthread_t threads[kThreads];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  int made = 0;
  while (made < kThreads && pthread_create(&threads[made], &attributes, work, NULL) == 0) ++made;
  SEE(made);
  pthread_mutex_lock(&mutex);
  while (count < made) pthread_cond_wait(&arrived, &mutex);
  go = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < made; ++i) MUST(pthread_join(threads[i], NULL) == 0);
  SEE(count);
  return 0;
}
