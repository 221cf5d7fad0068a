/* A program that shuts itself into an empty folder: no /proc, no /sys, no socket of a collector there. */
#include <sys/wait.h>

#include "check.h"
static void *idle(void *argument) {
  for (int i = 0; i < 20; ++i) sleep_ms(1);
  return argument;
}
static void run_thread(void) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, idle, NULL) == 0 && pthread_join(thread, NULL) == 0);
}
int main(int argc, char **argv) {
  char folder[] = "/tmp/stallscope-safety-root-XXXXXX";
  (void)argv;
  if (argc > 1) run_thread();
  MUST(mkdtemp(folder) != NULL);
  const int shut_in = chroot(folder) == 0 && chdir("/") == 0;
  printf("shut in: %d\n", shut_in);
  run_thread();
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      sleep_ms(3), sleep_ms(3);
      run_thread();
      _exit(12);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    SEE(WEXITSTATUS(status));
  }
  return 0;
}
