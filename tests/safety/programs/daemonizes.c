/* daemon(), and the double fork that programs write themselves; the daemon's result comes through a file. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"
static void *work(void *argument) {
  sleep_ms(2);
  return argument;
}
static void be_a_daemon(const char *path, const char *text) {
  sleep_ms(3);
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  char temporary[128];
  snprintf(temporary, sizeof(temporary), "%s.new", path);
  int fd = open(temporary, O_CREAT | O_WRONLY, 0600);
  if (write(fd, text, strlen(text)) < 0) _exit(1);
  close(fd);
  rename(temporary, path);
  _exit(0);
}
static void show(const char *path) {
  char text[64] = "";
  for (int i = 0; i < 2000 && access(path, R_OK) != 0; ++i) sleep_ms(5);
  int fd = open(path, O_RDONLY);
  MUST(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
  printf("%s\n", text);
  close(fd);
  unlink(path);
}
int main(void) {
  char path[64];
  snprintf(path, sizeof(path), "/tmp/stallscope-safety-%d", (int)getpid());
  pid_t child = fork();
  if (child == 0) {
    if (daemon(1, 1) == 0) be_a_daemon(path, "by daemon()");
    _exit(1);
  }
  waitpid(child, NULL, 0);
  show(path);
  child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    be_a_daemon(path, "by two forks");
  }
  waitpid(child, NULL, 0);
  show(path);
  return 0;
}
