/* The loader's list lock is held by another thread at the moment of a fork, and so for ever in the child. A child that
   needs nothing of the loader lives with that. */
#define _GNU_SOURCE
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static int holding[2], release[2];

static int hold(struct dl_phdr_info *info, size_t size, void *unused) {
  char byte = 'x';
  MUST(write(holding[1], &byte, 1) == 1);
  MUST(read(release[0], &byte, 1) == 1);
  return 1;
}

static void *in_callback(void *unused) {
  dl_iterate_phdr(hold, NULL);
  return unused;
}

int main(void) {
  char byte;
  MUST(pipe(holding) == 0 && pipe(release) == 0);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, in_callback, NULL) == 0);
  MUST(read(holding[0], &byte, 1) == 1);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 5; ++i) poll(NULL, 0, 3);
    exit(7);
  }
  int status = 0;
  for (int i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; ++i) sleep_ms(10);
  if (!WIFEXITED(status)) {
    puts("the child hangs");
    kill(child, 9);
  }
  SEE(WEXITSTATUS(status));
  MUST(write(release[1], "x", 1) == 1);
  MUST(pthread_join(thread, NULL) == 0);
  puts("done");
  return 0;
}
