/* Threads that sleep for a nanosecond at a time, for ever or ROUNDS times each, and count how often in a file that outlives them: so many
 * waits must have been recorded, whatever ended the program. usage: counted_waits FILE [ROUNDS] */
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

enum { kThreads = 3 };
static long *counts;
static long rounds = -1;

static void *sleep_on(void *number) {
  const struct timespec moment = {0, 1};
  for (long i = 0; i != rounds; ++i) {
    nanosleep(&moment, NULL);
    __atomic_add_fetch(&counts[(intptr_t)number], 1, __ATOMIC_SEQ_CST);
  }
  return NULL;
}

int main(int argc, char **argv) {
  MUST(argc > 1);
  if (argc > 2) rounds = atol(argv[2]);
  const int fd = open(argv[1], O_CREAT | O_RDWR | O_TRUNC, 0600);
  MUST(fd >= 0 && ftruncate(fd, 4096) == 0);
  counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  MUST(counts != MAP_FAILED);
  close(fd);
  pthread_t threads[kThreads];
  for (intptr_t i = 0; i < kThreads; ++i) MUST(pthread_create(&threads[i], NULL, sleep_on, (void *)i) == 0);
  puts("started");
  fflush(stdout);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
