/* A program that locks its memory pays for what it uses, not for what lies ready. */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/mman.h>

#include "check.h"

static long resident_kb(void) {
  char line[256];
  long kb = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof(line), status) != NULL) {
    if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
  }
  fclose(status);
  return kb;
}

static void *waits(void *unused) {
  poll(NULL, 0, 5);
  return unused;
}

static void run_threads(void) {
  pthread_t threads[8];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (int i = 0; i < 8; ++i) MUST(pthread_create(&threads[i], &small, waits, NULL) == 0);
  for (int i = 0; i < 8; ++i) MUST(pthread_join(threads[i], NULL) == 0);
}

/* Beyond what the same program takes without the agent, some 4 to 8 MB by the allocator's arenas. */
static void see_growth(const char *what, long before_kb, long most_kb) {
  const long growth_kb = resident_kb() - before_kb;
  if (growth_kb <= most_kb) {
    printf("%s: resident memory grew little\n", what);
  } else {
    printf("%s: resident memory grew by %ld KB\n", what, growth_kb);
  }
}

int main(void) {
  poll(NULL, 0, 5);
  const long before_kb = resident_kb();
  if (mlockall(MCL_CURRENT) != 0) {
    printf("mlockall is not allowed here (errno %d)\n", errno);
    return 0;
  }
  see_growth("one thread", before_kb, 10 << 10);
  run_threads();
  MUST(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
  run_threads();
  see_growth("threads", before_kb, 32 << 10);
  return 0;
}
