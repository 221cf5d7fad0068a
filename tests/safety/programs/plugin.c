/* A plugin that waits: the programs beside it load it in all the ways there are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int calls __attribute__((tls_model("initial-exec")));

int plugin_waits(void) {
  sem_t semaphore;
  struct timespec tiny = {0, 200000}, past = {1, 0};
  sem_init(&semaphore, 0, 0);
  pthread_mutex_lock(&mutex);
  ++calls;
  pthread_mutex_unlock(&mutex);
  nanosleep(&tiny, NULL);
  const int late = sem_timedwait(&semaphore, &past);
  return 10 * (late != 0) + poll(NULL, 0, 1);
}

int plugin_calls(void) { return calls; }

/* Whose `read` comes after this plugin's? Asked from here, RTLD_NEXT means the modules behind this one. */
int plugin_finds_next(void) {
  ssize_t (*next)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  char byte;
  return next != NULL ? (int)next(-1, &byte, 1) : -100;
}

int plugin_loads_neighbour(void) {
  void *neighbour = dlopen("libsafety_neighbour.so", RTLD_NOW); /* found by this plugin's RUNPATH alone */
  if (neighbour == NULL) return -1;
  int (*answer)(void) = (int (*)(void))dlsym(neighbour, "neighbour_answer");
  return answer != NULL ? answer() : -2;
}
