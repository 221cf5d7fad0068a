/* Threads and children that give up their right to most system calls: whatever the agent does in them afterwards would kill them. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

static int ends[2];

static void strict_work(void) {
  char byte = 'a';
  for (int i = 0; i < 5; ++i) {
    if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) syscall(SYS_exit, 3);
  }
  syscall(SYS_exit, 21);
}
static int enter_strict(void) { return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT); }

/* Only these; anything else kills the process. */
static int enter_filter(int through_syscall, int for_all) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (through_syscall) {
    /* For all threads: also one that the agent has. */
    const unsigned flags = for_all ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  }
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void spin_ms(int ms) {
  const struct timespec end = after_ms(CLOCK_MONOTONIC, ms);
  struct timespec now;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}
static int reap(pid_t child) {
  int status = -1;
  MUST(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
static void *idle(void *argument) {
  sleep_ms(5);
  return argument;
}
static void *strict_thread(void *argument) {
  if (enter_strict() != 0) return argument;
  strict_work();
  return NULL;
}

int main(void) {
  MUST(pipe(ends) == 0);
  for (int round = 0; round < 2; ++round) {
    pid_t child = fork();
    if (child == 0) {
      if (enter_strict() != 0) _exit(9);
      strict_work();
    }
    SEE(reap(child));
    child = fork(); /* has waited for a while before */
    if (child == 0) {
      sleep_ms(3), sleep_ms(3);
      if (enter_strict() != 0) _exit(9);
      strict_work();
    }
    SEE(reap(child));
    for (int kind = 0; kind < 5; ++kind) {
      const int for_all = kind == 4, through_syscall = for_all || kind % 2, streams = kind >= 2;
      child = fork();
      if (child == 0) {
        char byte = 'b';
        pthread_t thread; /* this one streams when the filter comes */
        if (streams) {
          sleep_ms(3), sleep_ms(3);
          MUST(pthread_create(&thread, NULL, idle, NULL) == 0 && pthread_join(thread, NULL) == 0);
        }
        if (enter_filter(through_syscall, for_all) != 0) _exit(9);
        for (int i = 0; i < 5; ++i) {
          if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) _exit(3);
        }
        if (streams) spin_ms(120); /* longer than a thread of the agent's would sleep */
        _exit(22);
      }
      SEE(reap(child));
    }
    pthread_t thread; /* the second round has a streaming thread */
    MUST(pthread_create(&thread, NULL, idle, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, strict_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  puts("the strict thread has ended, this one works");
  sleep_ms(2);
  return 0;
}
