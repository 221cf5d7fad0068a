/* A program that becomes another and another, from the main thread and with other threads running; and an exec that
 * fails first. */
#include "check.h"
static void *idle(void *argument) {
  for (;;) sleep_ms(1);
  return argument;
}
int main(int argc, char **argv) {
  int depth = argc > 1 ? atoi(argv[1]) : 0;
  printf("depth %d\n", depth);
  fflush(stdout);
  if (depth == 4) return 33;
  pthread_t thread;
  if (depth % 2) pthread_create(&thread, NULL, idle, NULL);
  sleep_ms(3);
  SEE(execv("/nonexistent", argv));
  fflush(stdout);
  sleep_ms(3);
  char next[8];
  snprintf(next, sizeof(next), "%d", depth + 1);
  execl("/proc/self/exe", argv[0], next, NULL);
  return 99;
}
