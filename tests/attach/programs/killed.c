/* A preload that kills the injector just before, or just after, its Nth request to ptrace.
 * KILL_AT=N, KILL_AFTER=1: after it. Words that are written one by one (PTRACE_POKEDATA) count as one.
 * KILL_IN_US=N: so long after it has taken hold of a thread, wherever it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

static void be_killed_in(long microseconds) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  const struct itimerspec when = {.it_value = {microseconds / 1000000, microseconds % 1000000 * 1000 + 1}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, NULL) != 0) abort();
}

long ptrace(enum __ptrace_request request, ...) {
  static long (*real)(enum __ptrace_request, pid_t, void *, void *);
  static long at, after, requests;
  static enum __ptrace_request last;
  if (real == NULL) {
    real = (long (*)(enum __ptrace_request, pid_t, void *, void *))dlsym(RTLD_NEXT, "ptrace");
    at = getenv("KILL_AT") != NULL ? atol(getenv("KILL_AT")) : 0;
    after = getenv("KILL_AFTER") != NULL;
  }
  va_list arguments;
  va_start(arguments, request);
  const pid_t thread = va_arg(arguments, pid_t);
  void *const address = va_arg(arguments, void *);
  void *const data = va_arg(arguments, void *);
  va_end(arguments);
  if (request == PTRACE_SEIZE && getenv("KILL_IN_US") != NULL) be_killed_in(atol(getenv("KILL_IN_US")));
  const int is_more = request == PTRACE_POKEDATA && last == PTRACE_POKEDATA;
  last = request;
  const int is_it = !is_more && ++requests == at;
  if (is_it && !after) kill(getpid(), SIGKILL);
  const long result = real(request, thread, address, data);
  if (is_it) kill(getpid(), SIGKILL);
  return result;
}
