/* 10,000 short threads, each of which waits for something: slots are used again, memory stays bounded. */
#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long rss_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  MUST(fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * 4;
}
static void *work(void *argument) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  struct timespec tiny = {0, 1000};
  nanosleep(&tiny, NULL);
  return argument;
}
int main(void) {
  long before = 0;
  for (int round = 0; round < 500; ++round) {
    pthread_t threads[20];
    for (int i = 0; i < 20; ++i) MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 20; ++i) MUST(pthread_join(threads[i], NULL) == 0);
    if (round == 250) before = rss_kib();
  }
  /* Half of all threads come after the first look: without reuse they would touch 5,000 rings of a page at least. */
  SEE(rss_kib() - before < 16 * 1024);
  return 0;
}
