/* Hooks on the smallest stacks there are: an alternate signal stack of MINSIGSTKSZ and a thread with PTHREAD_STACK_MIN.
 */
#include <limits.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "check.h"
static sem_t semaphore;
static volatile sig_atomic_t handled;
static void handler(int signal) {
  (void)signal;
  struct timespec tiny = {0, 2000};
  nanosleep(&tiny, NULL);
  sem_post(&semaphore);
  poll(NULL, 0, 1);
  handled = 1;
}
static void *on_small_stack(void *argument) {
  struct timespec past = {1, 0};
  for (int i = 0; i < 100; ++i) {
    sem_post(&semaphore);
    sem_wait(&semaphore);
    sem_timedwait(&semaphore, &past);
    poll(NULL, 0, 0);
  }
  sleep_ms(2);
  return argument;
}
int main(void) {
  sem_init(&semaphore, 0, 0);
  /* A guard page right below: an overflow ends the program. */
  size_t bytes = 4096;
  if (getauxval(AT_MINSIGSTKSZ) + 2048 > bytes) bytes = (getauxval(AT_MINSIGSTKSZ) + 2048 + 4095) / 4096 * 4096;
  char *area = mmap(NULL, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(mprotect(area + 4096, bytes, PROT_READ | PROT_WRITE) == 0);
  stack_t stack = {.ss_sp = area + 4096, .ss_size = bytes};
  MUST(sigaltstack(&stack, NULL) == 0);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 20; ++i) raise(SIGUSR1);
  SEE(handled);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  SEE(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
  pthread_t thread;
  SEE(pthread_create(&thread, &attributes, on_small_stack, NULL));
  SEE(pthread_join(thread, NULL));
  return 0;
}
