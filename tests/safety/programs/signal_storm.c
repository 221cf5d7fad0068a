/* A handler at some 20 kHz that posts, polls, tries locks and waits in vain, while the main thread does the same. With a FILE, the number
 * of the handler's waits is written there: each must have been recorded. */
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "check.h"
static sem_t semaphore, empty;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int epoll_fd;
static volatile long posted;
static void handler(int signal) {
  (void)signal;
  int error = errno;
  struct epoll_event event;
  sem_post(&semaphore);
  ++posted;
  if (pthread_mutex_trylock(&mutex) == 0) pthread_mutex_unlock(&mutex);
  epoll_wait(epoll_fd, &event, 1, 0);
  static const struct timespec past = {1, 0};
  if (sem_timedwait(&empty, &past) == 0 || errno != ETIMEDOUT) abort();
  errno = error;
}
static void *sleep_on(void *unused) {
  for (;;) pause();
  return unused;
}
int main(int argc, char **argv) {
  sem_init(&semaphore, 0, 0);
  sem_init(&empty, 0, 0);
  epoll_fd = epoll_create1(0);
  if (argc > 1) { /* a second thread, so that records are streamed; the signals are this one's */
    sigset_t alarm;
    pthread_t thread;
    sigemptyset(&alarm), sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    MUST(pthread_create(&thread, NULL, sleep_on, NULL) == 0);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
  }
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  long taken = 0;
  struct epoll_event event;
  while (taken < 4000) {
    if (sem_wait(&semaphore) == 0) ++taken;
    epoll_wait(epoll_fd, &event, 1, 0);
    if (pthread_mutex_trylock(&mutex) == 0) pthread_mutex_unlock(&mutex);
    sched_yield();
  }
  setitimer(ITIMER_REAL, &never, NULL);
  while (sem_trywait(&semaphore) == 0) ++taken;
  SEE(taken == posted);
  if (argc > 1) {
    FILE *file = fopen(argv[1], "w");
    MUST(file != NULL && fprintf(file, "%ld\n", posted) > 0 && fclose(file) == 0);
  }
  return 0;
}
