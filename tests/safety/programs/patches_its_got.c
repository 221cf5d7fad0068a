/* A program that patches its own GOT, as other tracers do: its function goes in front of what is there, calls on, and is taken out
 * again. Built with lazy binding, so that unbound slots are patched too. */
#include <poll.h>

#include "check.h"
#include "tests/call_slot.h"

static long seen_sleeps, seen_polls;
static int (*next_nanosleep)(const struct timespec *, struct timespec *);
static int (*next_poll)(struct pollfd *, nfds_t, int);

static int own_nanosleep(const struct timespec *time, struct timespec *left) {
  ++seen_sleeps;
  return next_nanosleep(time, left);
}
static int own_poll(struct pollfd *fds, nfds_t count, int timeout) {
  ++seen_polls;
  return next_poll(fds, count, timeout);
}

static void *sleeps(void *argument) {
  for (int i = 0; i < 50; ++i) sleep_ms(0), poll(NULL, 0, 0);
  return argument;
}

int main(void) {
  pthread_t thread;
  for (int round = 0; round < 20; ++round) {
    void *before_sleep = ReplaceCallSlot("nanosleep", own_nanosleep), *before_poll = ReplaceCallSlot("poll", own_poll);
    MUST(before_sleep != NULL && before_poll != NULL);
    next_nanosleep = before_sleep, next_poll = before_poll;
    pthread_create(&thread, NULL, sleeps, NULL);
    sleeps(NULL);
    pthread_join(thread, NULL);
    ReplaceCallSlot("poll", before_poll), ReplaceCallSlot("nanosleep", before_sleep);
    sleeps(NULL);
  }
  SEE(seen_sleeps > 0);
  SEE(seen_polls > 0);
  return 0;
}
