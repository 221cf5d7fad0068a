/* Condition variables at their old version: reaching the new functions with an old condition variable hangs. */
#include "check.h"
int cond_wait(pthread_cond_t *, pthread_mutex_t *);
int cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
int cond_signal(pthread_cond_t *);
int cond_broadcast(pthread_cond_t *);
__asm__(".symver cond_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver cond_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver cond_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver cond_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");
#include "conditions.inc"
