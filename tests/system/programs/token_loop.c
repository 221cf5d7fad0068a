/* A decode loop without a GPU: a worker thread makes tokens under a lock, the main thread waits for them and marks each
 * step.
 *
 * usage: token_loop STEPS [EXIT_CODE [FILE]]     STEPS 0: until SIGTERM, which ends it with EXIT_CODE; FILE is made
 * after 20 steps Every step waits on a condition variable, sleeps 1 ms in the worker and delivers 4 tokens. Linked
 * statically it is the same program without a loader. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef TOKEN_LOOP_STATIC
static void stallscope_step(unsigned long tokens) { (void)tokens; }
#else
#include "agent/marker/stallscope_marker.h"
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long asked, made;
static volatile sig_atomic_t stop;

static void on_term(int number) {
  (void)number;
  stop = 1;
}

static void *make_tokens(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (asked == made) pthread_cond_wait(&changed, &lock);
    if (asked < 0) break;
    const struct timespec work = {0, 1000000};
    nanosleep(&work, NULL);
    ++made;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char **argv) {
  const long steps = argc > 1 ? atol(argv[1]) : 100;
  const int exit_code = argc > 2 ? atoi(argv[2]) : 0;
  signal(SIGTERM, on_term);
  pthread_t worker;
  pthread_create(&worker, NULL, make_tokens, NULL);
  for (long step = 1; !stop && (steps == 0 || step <= steps); ++step) {
    pthread_mutex_lock(&lock);
    asked = step;
    pthread_cond_broadcast(&changed);
    while (made < step) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    stallscope_step(4);
    if (step == 20 && argc > 3) close(open(argv[3], O_WRONLY | O_CREAT, 0600));
  }
  pthread_mutex_lock(&lock);
  asked = -1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(worker, NULL);
  puts("token_loop: done");
  return exit_code;
}
