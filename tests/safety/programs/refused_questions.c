/* A sandbox that refuses tgkill with signal 0: nobody can ask whether a thread lives, and all of them do. The thread
   waits briefly, is quiet for a second, and waits again. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"

static void refuse(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *waits(void *unused) {
  for (int i = 0; i < 5; ++i) sleep_ms(2);
  pthread_barrier_t *quiet = unused;
  pthread_barrier_wait(quiet);
  for (int i = 0; i < 5; ++i) sleep_ms(3);
  return NULL;
}

int main(void) {
  refuse();
  pthread_t thread;
  pthread_barrier_t quiet;
  pthread_barrier_init(&quiet, NULL, 2);
  MUST(pthread_create(&thread, NULL, waits, &quiet) == 0);
  sleep_ms(1200);
  pthread_barrier_wait(&quiet);
  MUST(pthread_join(thread, NULL) == 0);
  puts("done");
  return 0;
}
