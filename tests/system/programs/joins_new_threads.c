/* Creates a thread that sleeps 2 ms and joins it at once, 50 times: at the join the thread has recorded nothing yet, and its handle
 * is the one of the thread before. */
#include <pthread.h>
#include <time.h>

static void *sleep_briefly(void *argument) {
  const struct timespec duration = {0, 2000000};
  nanosleep(&duration, NULL);
  return argument;
}

int main(void) {
  for (int i = 0; i < 50; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_briefly, NULL) != 0) return 1;
    if (pthread_join(thread, NULL) != 0) return 2;
  }
  return 0;
}
