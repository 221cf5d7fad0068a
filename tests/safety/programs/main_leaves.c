/* main ends by pthread_exit; the process must end, with code 0, when its last thread does. */
#include "check.h"
static void *outlive(void *argument) {
  sleep_ms(100);
  printf("last thread\n");
  return argument;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, outlive, NULL);
  pthread_detach(thread);
  pthread_exit(NULL);
}
