/* A handler that jumps out of a wait, many times: the next waits work, and the wake-ups of others too. */
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "check.h"
static sigjmp_buf out;
static int ends[2];
static void handler(int signal) {
  (void)signal;
  siglongjmp(out, 1);
}
int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGALRM, &action, NULL);
  MUST(pipe(ends) == 0);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  volatile int jumps = 0;
  for (volatile int i = 0; i < 300; ++i) {
    struct itimerval soon = {{0, 0}, {0, 300}};
    if (sigsetjmp(out, 1) == 0) {
      char byte;
      struct pollfd fds[3] = {{ends[0], POLLIN, 0}, {0x7ff0 + i % 7, POLLIN, 0}, {ends[0], POLLIN, 0}};
      setitimer(ITIMER_REAL, &soon, NULL);
      if (i % 3 == 0) read(ends[0], &byte, 1);
      if (i % 3 == 1) sem_wait(&semaphore);
      if (i % 3 == 2) poll(fds, 1 + 2 * (i % 2), -1);
      for (;;) poll(NULL, 0, 100);
    } else {
      ++jumps;
    }
  }
  SEE(jumps);
  sem_post(&semaphore);
  SEE(sem_wait(&semaphore));
  SEE(write(ends[1], "x", 1));
  char byte = 0;
  SEE(read(ends[0], &byte, 1));
  return byte == 'x' ? 0 : 1;
}
