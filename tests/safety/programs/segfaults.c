/* A program that dies of a real access violation with threads waiting: the same signal, the same rules for its core file. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "check.h"
static void *idle(void *argument) {
  for (;;) sleep_ms(1);
  return argument;
}
int main(void) {
  struct rlimit none = {0, 0};
  char filter[32] = "";
  FILE *file = fopen("/proc/self/coredump_filter", "r");
  MUST(file != NULL && fgets(filter, sizeof(filter), file) != NULL);
  fclose(file);
  setrlimit(RLIMIT_CORE, &none);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, idle, NULL);
  sleep_ms(20);
  printf("filter %sdumpable %d\n", filter, prctl(PR_GET_DUMPABLE));
  fflush(stdout);
  *(volatile int *)16 = 1;
  return 98;
}
