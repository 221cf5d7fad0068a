/* fork, _Fork, raw SYS_fork, raw clone: each child works with threads, locks and waits of its own and exits with its
 * code. */
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *touch(void *argument) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  sleep_ms(3);
  return argument;
}
static int work(void) {
  sleep_ms(2);
  sleep_ms(2);
  pthread_t thread;
  if (pthread_create(&thread, NULL, touch, NULL) != 0) return 1;
  touch(NULL);
  pthread_join(thread, NULL);
  return 40;
}
static int reap(pid_t child) {
  int status = -1;
  MUST(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
int main(int argc, char **argv) {
  (void)argv;
  pthread_t thread;
  if (argc == 1) pthread_create(&thread, NULL, touch, NULL);
  pid_t child = fork();
  if (child == 0) _exit(work());
  SEE(reap(child));
  child = fork();
  if (child == 0) exit(work());
  SEE(reap(child));
  child = _Fork();
  if (child == 0) {
    sleep_ms(2);
    touch(NULL);
    _exit(41);
  }
  SEE(reap(child));
  child = syscall(SYS_fork);
  if (child == 0) {
    touch(NULL);
    sleep_ms(2);
    touch(NULL);
    _exit(42);
  }
  SEE(reap(child));
  child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    touch(NULL);
    sleep_ms(2);
    touch(NULL);
    _exit(43);
  }
  SEE(reap(child));
  child = fork(); /* grandchildren */
  if (child == 0) {
    sleep_ms(3);
    sleep_ms(3);
    pid_t grandchild = fork();
    if (grandchild == 0) _exit(work() + 4);
    _exit(reap(grandchild));
  }
  SEE(reap(child));
  if (argc == 1) pthread_join(thread, NULL);
  return 0;
}
