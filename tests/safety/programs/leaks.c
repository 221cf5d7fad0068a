/* Built with the leak sanitizer: the program's own leak is found, and only that one. (The exit code says so.) */
#include "check.h"
static void *lose(void *argument) {
  char *volatile lost = malloc(1234);
  lost[0] = 1;
  lost = NULL;
  sleep_ms(2);
  return argument;
}
int main(int argc, char **argv) {
  pthread_t thread;
  (void)argv;
  MUST(pthread_create(&thread, NULL, argc > 1 ? lose : (void *(*)(void *))strdup, (void *)"") == 0);
  void *kept = NULL;
  MUST(pthread_join(thread, &kept) == 0);
  if (argc == 1) free(kept);
  puts("done");
  fflush(stdout); /* the sanitizer ends the process before the streams are flushed */
  return 0;
}
