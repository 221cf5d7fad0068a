/* Forks again and again while another thread of the program lives, and loads libraries meanwhile; each child loads a library too, which
 * it can only where nobody held the loader's list at the moment of the fork. (The program itself never forks while it loads.) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

static volatile int stop;

static void *waits(void *unused) {
  while (!stop) sleep_ms(1);
  return unused;
}

static void copy(const char *from, const char *to) {
  struct stat status;
  const int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0700);
  MUST(in >= 0 && out >= 0 && fstat(in, &status) == 0);
  for (ssize_t left = status.st_size; left > 0;) {
    const ssize_t done = sendfile(out, in, NULL, left);
    MUST(done > 0);
    left -= done;
  }
  close(in), close(out);
}

/* 0: the child ended as it should. */
static int reap(pid_t child) {
  for (int i = 0; i < 4000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return !(WIFEXITED(status) && WEXITSTATUS(status) == 11);
    sleep_ms(1);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 1;
}

int main(void) {
  enum { kForks = 300 };
  char folder[PATH_MAX] = "", from[PATH_MAX + 64], to[PATH_MAX + 64];
  char temporary[] = "/tmp/stallscope-safety-loads-XXXXXX";
  MUST(readlink("/proc/self/exe", folder, sizeof(folder) - 1) > 0 && mkdtemp(temporary) != NULL);
  snprintf(from, sizeof(from), "%s/libsafety_plugin.so", dirname(folder));
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, waits, NULL) == 0);
  int hang = 0;
  for (int i = 0; i < kForks && hang < 3; ++i) {
    snprintf(to, sizeof(to), "%s/%d.so", temporary, i);
    copy(from, to);
    void *plugin = dlopen(to, RTLD_NOW | RTLD_LOCAL);
    unlink(to);
    MUST(plugin != NULL);
    const pid_t child = fork();
    if (child == 0) _exit(dlopen(from, RTLD_NOW) != NULL && dlsym(RTLD_DEFAULT, "no_such_function") == NULL ? 11 : 12);
    hang += reap(child);
  }
  rmdir(temporary);
  stop = 1;
  pthread_join(thread, NULL);
  SEE(hang);
  return 0;
}
