/* The program counts on getting the lowest free descriptor; ours are out of its way. */
#include <dirent.h>
#include <fcntl.h>

#include "check.h"
static void *idle(void *argument) {
  sleep_ms(30);
  return argument;
}
int main(void) {
  pthread_t thread;
  SEE(open("/dev/null", O_RDONLY));
  pthread_create(&thread, NULL, idle, NULL);
  SEE(open("/dev/null", O_RDONLY));
  for (int i = 0; i < 2000; ++i) {
    close(0);
    MUST(open("/dev/null", O_RDONLY) == 0);
  }
  pthread_join(thread, NULL);
  SEE(open("/dev/null", O_RDONLY));
  return 0;
}
