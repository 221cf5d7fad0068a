/* The program closes every descriptor it does not know, puts its own over ours, and goes on: its files must hold its
 * bytes only. */
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"
static void *idle(void *argument) {
  for (int i = 0; i < 30; ++i) sleep_ms(1);
  return argument;
}
static void run_threads(void) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, idle, NULL) == 0);
  idle(NULL);
  pthread_join(thread, NULL);
}
int main(int argc, char **argv) {
  (void)argv;
  if (argc == 1) run_threads();
  closefrom(3);
  char path[64];
  snprintf(path, sizeof(path), "/tmp/stallscope-safety-fd-%d", (int)getpid());
  int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
  SEE(fd);
  for (int other = 4; other < 160; ++other) MUST(dup2(fd, other) == other);
  run_threads();
  sleep_ms(150);
  run_threads();
  struct stat status;
  MUST(fstat(fd, &status) == 0);
  SEE(status.st_size);
  int open_count = 0;
  for (int other = 0; other < 160; ++other) open_count += fcntl(other, F_GETFD) != -1;
  SEE(open_count);
  unlink(path);
  return 0;
}
