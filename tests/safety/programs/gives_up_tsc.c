// A program that takes the TSC from itself (PR_SET_TSC): from then on reading it is a fault, also in threads it makes. It
// goes on locking, waiting and polling, without asking libc for the time, which reads it too.
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t first, second;

static void *answer(void *unused) {
  (void)unused;
  for (int i = 0; i < 200; ++i) {
    sem_wait(&first);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    sem_post(&second);
  }
  return NULL;
}

int main(void) {
  int ends[2];
  char byte = 'x';
  pthread_t before, after;
  sem_init(&first, 0, 0);
  sem_init(&second, 0, 0);
  if (pipe(ends) != 0 || pthread_create(&before, NULL, answer, NULL) != 0) return 99;
  for (int i = 0; i < 200; ++i) {
    sem_post(&first);
    sem_wait(&second);
  }
  pthread_join(before, NULL);
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) {
    printf("the kernel does not take the TSC away\n");
    return 0;
  }
  int polled = 0, read_bytes = 0;
  if (pthread_create(&after, NULL, answer, NULL) != 0) return 99;
  for (int i = 0; i < 200; ++i) {
    struct pollfd fd = {ends[0], POLLIN, 0};
    sem_post(&first);
    sem_wait(&second);
    polled += poll(&fd, 1, 0);
    if (write(ends[1], &byte, 1) != 1) return 98;
    polled += poll(&fd, 1, -1);
    read_bytes += (int)read(ends[0], &byte, 1);
  }
  pthread_join(after, NULL);
  usleep(1000); /* one more hooked call, of the thread that is left */
  printf("polled %d, read %d\n", polled, read_bytes);
  return 0;
}
