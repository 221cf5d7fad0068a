/* Parent and child wait for different times; the child's waits must be recorded as another process's. Prints both pids.
 */
#include <poll.h>
#include <sys/wait.h>

#include "check.h"
int main(void) {
  poll(NULL, 0, 5);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; ++i) poll(NULL, 0, 7);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  poll(NULL, 0, 5);
  printf("%d %d\n", (int)getpid(), (int)child);
  return 0;
}
