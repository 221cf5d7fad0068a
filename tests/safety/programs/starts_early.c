/* Hooks before the agent is set up: from a library's constructor, from IFUNC resolvers of a library and of the program. */
#include <semaphore.h>

#include "check.h"

int early_answer(void), early_constructor_locks(void), early_resolver_calls(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int own(void) { return 3; }
static int (*choose_own(void))(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return own;
}
static int own_answer(void) __attribute__((ifunc("choose_own")));

int main(void) {
  int (*volatile through_pointer)(void) = own_answer;
  SEE(early_constructor_locks());
  SEE(early_resolver_calls() > 0);
  SEE(early_answer());
  SEE(own_answer());
  SEE(through_pointer());
  sleep_ms(2);
  return 0;
}
