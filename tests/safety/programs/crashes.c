/* A program with a SIGSEGV handler of its own, that ends by a signal. */
#include <setjmp.h>
#include <signal.h>

#include "check.h"
static sigjmp_buf back;
static void handler(int signal) { siglongjmp(back, signal); }
static void *idle(void *argument) {
  for (;;) sleep_ms(1);
  return argument;
}
int main(void) {
  struct sigaction action = {.sa_handler = handler}, found;
  SEE(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
  SEE(sigaction(SIGPIPE, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
  pthread_t thread;
  pthread_create(&thread, NULL, idle, NULL);
  sigaction(SIGSEGV, &action, NULL);
  int signal = sigsetjmp(back, 1);
  if (signal == 0) *(volatile int *)16 = 1;
  SEE(signal);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  SEE(sigismember(&mask, SIGTERM) + sigismember(&mask, SIGUSR1) + sigismember(&mask, SIGPIPE));
  fflush(stdout);
  kill(getpid(), SIGTERM);
  sleep_ms(1000);
  return 98;
}
