/* Every hook called by a library's IFUNC resolver, while the loader has not come to the agent yet: each of them as the first one, in a
 * program of its own. */
#include <sys/wait.h>

#include "check.h"

int early_answer(void), early_call_count(void);
void early_first_result(long *result, long *error),
    early_result(int call, const char **name, long *result, long *error);
long early_again(int call);

static int one_program(int first) {
  const char *name;
  long result, error, sum = 0;
  for (int i = 0; i < early_call_count(); ++i) {
    early_result(i, &name, &result, &error);
    if (first == 0) printf("  %-32s %ld, errno %ld, later %ld\n", name, result, error, early_again(i));
    sum = sum * 31 + result * 7 + error;
  }
  early_result(first, &name, &result, &error);
  early_first_result(&result, &error);
  printf("%-32s %ld, errno %ld; all: %lx; answer %d\n", name, result, error, sum, early_answer());
  sleep_ms(1);
  return 0;
}

int main(int count, char **arguments) {
  if (count > 1) return one_program(atoi(arguments[1]));
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int first = 0; first < early_call_count(); ++first) {
    char number[16];
    int status;
    snprintf(number, sizeof(number), "%d", first);
    const pid_t child = fork();
    if (child == 0) {
      execl(arguments[0], arguments[0], number, NULL);
      _exit(99);
    }
    MUST(waitpid(child, &status, 0) == child);
    if (status != 0) printf("first call %d: status %d\n", first, status);
  }
  return 0;
}
