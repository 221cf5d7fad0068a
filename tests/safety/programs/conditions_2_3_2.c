/* Condition variables as every program built in this century asks for them. */
#include "check.h"
#define cond_wait pthread_cond_wait
#define cond_timedwait pthread_cond_timedwait
#define cond_signal pthread_cond_signal
#define cond_broadcast pthread_cond_broadcast
#include "conditions.inc"
