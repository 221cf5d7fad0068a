/* Forks while eight threads sit in hooks; the children use the same kinds of objects. */
#include <poll.h>
#include <sys/wait.h>

#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int stop;
static void *busy(void *argument) {
  int kind = (int)(intptr_t)argument;
  while (!stop) {
    pthread_mutex_lock(&mutex);
    if (kind % 2) {
      struct timespec soon = after_ms(CLOCK_REALTIME, 1);
      pthread_cond_timedwait(&condition, &mutex, &soon);
    }
    pthread_mutex_unlock(&mutex);
    if (kind % 4 == 0) poll(NULL, 0, 1);
  }
  return NULL;
}
int main(void) {
  pthread_t threads[8];
  for (intptr_t i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, busy, (void *)i);
  int good = 0;
  for (int i = 0; i < 40; ++i) {
    pid_t child = fork();
    if (child == 0) {
      pthread_mutex_lock(&fork_mutex); /* nobody held it */
      pthread_mutex_unlock(&fork_mutex);
      sleep_ms(2);
      poll(NULL, 0, 1);
      _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == 5;
  }
  stop = 1;
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  SEE(good);
  return 0;
}
