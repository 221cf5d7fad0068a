/* Built with a sanitizer, and has what it looks for: a freed block is read (ASan), two threads write without a lock (TSan), a shift by more
 * than the bits there are (UBSan). The sanitizer finds it behind the agent as without it; its exit code says so. */
#include "check.h"

static long shared;
static volatile int bits = 40;
static void *writes(void *unused) {
  for (int i = 0; i < 1000; ++i) {
    ++shared;
    if (i % 100 == 0) usleep(10);
  }
  return unused;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  puts("begins");
#if defined(HAS_FAULT_thread)
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) MUST(pthread_create(&threads[i], NULL, writes, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
#elif defined(HAS_FAULT_address)
  volatile char *block = malloc(100);
  free((void *)block);
  usleep(10);
  return block[5];
#else
  usleep(10);
  return (1 << bits) == 77;
#endif
  return 0;
}
