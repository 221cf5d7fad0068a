/* A library that the program needs, so that its constructor and its IFUNC resolvers run before the agent is set up. Its resolver is
 * run while the loader relocates: before the agent itself is. (What else a resolver may call: early_caller.c.) */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int constructor_locks, resolver_calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor(101))) static void first(void) {
  sem_t semaphore;
  struct timespec tiny = {0, 1000};
  sem_init(&semaphore, 0, 1);
  for (int i = 0; i < 10; ++i) {
    pthread_mutex_lock(&mutex);
    ++constructor_locks;
    pthread_mutex_unlock(&mutex);
    sem_wait(&semaphore);
    sem_post(&semaphore);
    nanosleep(&tiny, NULL);
  }
}

static int plain_answer(void) { return 1; }
static int other_answer(void) { return 2; }
static int (*choose(void))(void) {
  ++resolver_calls;
  if (getenv("STALLSCOPE_SAFETY_NO_SUCH_VARIABLE") != NULL) return other_answer;
  return plain_answer;
}
static int answer(void) __attribute__((ifunc("choose")));

int early_answer(void) { return answer(); }
int early_constructor_locks(void) { return constructor_locks; }
int early_resolver_calls(void) { return resolver_calls; }
