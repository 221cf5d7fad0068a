/* Shared by the safety programs: each prints what it saw, and must print the same without and with the agent. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* run_pair.py --attach: the program is held here until the file exists, so that its whole run is an attached one. At most 20 s. */
__attribute__((constructor(65535))) static void wait_at_gate(void) {
  const char *gate = getenv("STALLSCOPE_SAFETY_GATE");
  if (gate == NULL || getenv("STALLSCOPE_SAFETY_GATE_PASSED") != NULL) return;
  setenv("STALLSCOPE_SAFETY_GATE_PASSED", "1", 1); /* programs that this one starts */
  const struct timespec tick = {0, 2000000};
  for (int i = 0; i < 10000 && access(gate, F_OK) != 0; ++i) {
    /* The injector takes a thread out of this call: the program must not see it. */
    if (nanosleep(&tick, NULL) != 0) printf("nanosleep was interrupted: errno %d\n", errno);
  }
}

#define SEE(expression) printf("%-60s %ld\n", #expression, (long)(expression))

/* An assertion that stops the program; its exit code differs from every expected one. */
#define MUST(condition)                                                                \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      printf("%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      exit(99);                                                                        \
    }                                                                                  \
  } while (0)

static inline void sleep_ms(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&t, NULL);
}

static inline struct timespec after_ms(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms % 1000 * 1000000L;
  t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000L;
  t.tv_nsec %= 1000000000L;
  return t;
}
