/* fork is no cancellation point, also where the agent's thread has to be gone first. */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "check.h"

static void *nothing(void *unused) { return unused; }

int main(void) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, nothing, NULL) == 0);
  MUST(pthread_join(thread, NULL) == 0);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cancel(pthread_self());
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  const pid_t child = fork();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  if (child == 0) _exit(5);
  int status = 0;
  MUST(waitpid(child, &status, 0) == child);
  SEE(WEXITSTATUS(status));
  puts("not cancelled");
  return 0;
}
