/* Built with GCC's thread sanitizer, whose runtime counts the threads that are alive at a fork and refuses new ones
   in a child of several. */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "check.h"

static void *nothing(void *unused) { return unused; }

static void run_thread(void) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, nothing, NULL) == 0);
  MUST(pthread_join(thread, NULL) == 0);
}

int main(void) {
  run_thread();
  for (int round = 0; round < 2; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      run_thread();
      _exit(6);
    }
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    SEE(WEXITSTATUS(status));
    run_thread();
  }
  puts("done");
  return 0;
}
