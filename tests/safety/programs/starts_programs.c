/* vfork and exec, posix_spawn, system, popen, each exec of libc: the started program's output and exit code arrive. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "check.h"
extern char **environ;
static void *idle(void *argument) {
  sleep_ms(5);
  return argument;
}
static int reap(pid_t child) {
  int status = -1;
  MUST(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  char *arguments[] = {"sh", "-c", "echo started $GREETING; exit 7", NULL};
  setenv("GREETING", "hello", 1);
  for (int round = 0; round < 2; ++round) {
    pid_t child = vfork();
    if (child == 0) {
      execv("/bin/sh", arguments);
      _exit(1);
    }
    SEE(reap(child));
    child = vfork();
    if (child == 0) {
      execl("/nonexistent", "x", NULL);
      _exit(3);
    }
    SEE(reap(child));
    MUST(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
    SEE(reap(child));
    MUST(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0);
    SEE(reap(child));
    SEE(WEXITSTATUS(system("echo system; exit 9")));
    FILE *pipe_file = popen("echo from a pipe", "r");
    char line[64] = "";
    MUST(fgets(line, sizeof(line), pipe_file) != NULL);
    printf("%s", line);
    SEE(pclose(pipe_file));
    for (int kind = 0; kind < 6; ++kind) {
      child = fork();
      if (child == 0) {
        char *own_environment[] = {"GREETING=own", NULL};
        if (kind == 0) execl("/bin/sh", "sh", "-c", "echo execl $GREETING; exit 20", NULL);
        if (kind == 1) execlp("sh", "sh", "-c", "echo execlp $GREETING; exit 21", NULL);
        if (kind == 2) execle("/bin/sh", "sh", "-c", "echo execle $GREETING; exit 22", NULL, own_environment);
        if (kind == 3) execvpe("sh", arguments, own_environment);
        if (kind == 4) execve("/bin/sh", arguments, environ);
        if (kind == 5) fexecve(open("/bin/sh", O_RDONLY), arguments, environ);
        _exit(1);
      }
      SEE(reap(child));
    }
    pthread_t thread; /* the second round has a streaming thread */
    pthread_create(&thread, NULL, idle, NULL);
    pthread_join(thread, NULL);
  }
  return 0;
}
