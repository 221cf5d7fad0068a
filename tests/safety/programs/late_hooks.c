/* Hooks called when the agent's own end may have come: from a TLS destructor, from atexit, from .fini_array; and before
   it began: from .preinit_array and .init_array. */
#include <semaphore.h>

#include "check.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;
static pthread_key_t key;
static int early_locks;
static void early(void) {
  pthread_mutex_lock(&mutex);
  ++early_locks;
  pthread_mutex_unlock(&mutex);
  sleep_ms(1);
}
static void early_before(int argc, char **argv, char **environment) {
  (void)argc, (void)argv, (void)environment;
  early();
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **, char **) = early_before;
__attribute__((constructor(102))) static void first(void) { early(); }
static void use(const char *where) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  sem_post(&semaphore);
  sem_wait(&semaphore);
  sleep_ms(1);
  printf("%s\n", where);
}
static void in_key_destructor(void *value) { use(value); }
static void in_atexit(void) { use("atexit"); }
__attribute__((destructor(102))) static void last(void) { use("fini"); }
static void *thread_main(void *argument) {
  pthread_setspecific(key, "key destructor");
  return argument;
}
static void *leaves_early(void *argument) {
  (void)argument;
  pthread_setspecific(key, "key destructor after pthread_exit");
  pthread_exit((void *)5);
}
int main(void) {
  sem_init(&semaphore, 0, 0);
  SEE(early_locks);
  pthread_key_create(&key, in_key_destructor);
  atexit(in_atexit);
  pthread_t thread;
  void *result = NULL;
  pthread_create(&thread, NULL, thread_main, NULL);
  pthread_join(thread, NULL);
  pthread_create(&thread, NULL, leaves_early, NULL);
  pthread_join(thread, &result);
  SEE((long)result);
  return 0;
}
