/* A library that is loaded after the attach: its own waits must be recorded. */
#include <time.h>
#include <unistd.h>

void *run(void *unused) {
  const struct timespec pause = {0, 3000000};
  for (int i = 0; i < 5; ++i) {
    nanosleep(&pause, 0);
    usleep(2000);
  }
  return unused;
}
