/* One program that puts itself into the state that its argument names, says "ready", and stays until its input ends.
 *
 * usage: targets STATE
 *   plain            one thread, in a read
 *   threads          three threads, each waiting: a condition variable, a pipe that stays empty, a long sleep
 *   not-dumpable     prctl(PR_SET_DUMPABLE, 0)
 *   own-filter       a seccomp filter of its own that allows everything
 *   strict           strict seccomp
 *   zombie           prints the pid of a child that has ended and that nobody waits for
 *   traced           prints the pid of a child that it traces
 *   computes         all threads allocate and compute, none ever waits; prints a checked sum at the end
 *   epoll            one thread, in epoll_wait with a time limit of 1 s; counts EINTR
 *   plugin PATH      loads that library when a line comes in, and calls its function run() in a thread for each more line */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int empty_pipe[2];
static volatile int stop;

static void ready(long number) {
  printf("ready %ld\n", number);
  fflush(stdout);
}

static void until_input_ends(void) {
  char byte;
  while (read(0, &byte, 1) > 0) {
  }
}

static void *waits_for_condition(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "on-condition");
  pthread_mutex_lock(&lock);
  for (;;) pthread_cond_wait(&never, &lock);
  return NULL;
}

static void *waits_for_pipe(void *unused) {
  char byte;
  (void)unused;
  prctl(PR_SET_NAME, "on-pipe");
  if (read(empty_pipe[0], &byte, 1) < 0) abort();
  return NULL;
}

static void *sleeps(void *unused) {
  (void)unused;
  prctl(PR_SET_NAME, "sleeper");
  for (;;) sleep(1000);
  return NULL;
}

static void *computes(void *into) {
  uint64_t sum = 0, rounds = 0;
  while (!stop) {
    unsigned char *block = malloc(1000 + rounds % 7000);
    memset(block, (int)(rounds & 127), 1000);
    sum += block[rounds % 1000];
    free(block);
    ++rounds;
  }
  uint64_t expected = 0;
  for (uint64_t i = 0; i < rounds; ++i) expected += i & 127;
  *(uint64_t *)into = sum == expected;
  return NULL;
}

static void own_filter(void) {
  struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {1, all};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) exit(77);
}

int main(int argc, char **argv) {
  const char *state = argc > 1 ? argv[1] : "plain";
  if (pipe(empty_pipe) != 0) abort();
  pthread_t threads[3];
  if (strcmp(state, "threads") == 0) {
    pthread_create(&threads[0], NULL, waits_for_condition, NULL);
    pthread_create(&threads[1], NULL, waits_for_pipe, NULL);
    pthread_create(&threads[2], NULL, sleeps, NULL);
    usleep(50000);
  } else if (strcmp(state, "not-dumpable") == 0) {
    prctl(PR_SET_DUMPABLE, 0);
  } else if (strcmp(state, "own-filter") == 0) {
    own_filter();
  } else if (strcmp(state, "strict") == 0) {
    puts("ready 0");
    fflush(stdout);
    char byte;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(77);
    while (read(0, &byte, 1) > 0) {
    }
    syscall(SYS_exit, 0);
  } else if (strcmp(state, "zombie") == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    ready(child);
    until_input_ends();
    return 0;
  } else if (strcmp(state, "traced") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) return 77;
    ready(child);
    until_input_ends();
    kill(child, 9);
    return 0;
  } else if (strcmp(state, "computes") == 0) {
    uint64_t right[2] = {0, 0};
    char byte;
    pthread_create(&threads[0], NULL, computes, &right[0]);
    ready(getpid());
    pthread_create(&threads[1], NULL, computes, &right[1]);
    /* The first thread must not be parked either. */
    while (!stop) {
      struct pollfd input = {0, POLLIN, 0};
      if (poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0) stop = 1;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("result %s\n", right[0] && right[1] ? "ok" : "WRONG");
    return 0;
  } else if (strcmp(state, "epoll") == 0) {
    const int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, 0, &event);
    long interrupted = 0, early = 0;
    ready(getpid());
    for (;;) {
      struct timespec begin, end;
      clock_gettime(CLOCK_MONOTONIC, &begin);
      const int result = epoll_wait(set, &event, 1, 1000);
      clock_gettime(CLOCK_MONOTONIC, &end);
      const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
      if (result < 0 && errno == EINTR) ++interrupted;
      if (result == 0 && seconds < 0.999) ++early;
      if (result > 0) break;
    }
    printf("result ok, eintr %ld, early %ld\n", interrupted, early);
    return interrupted != 0 || early != 0;
  } else if (strcmp(state, "plugin") == 0) {
    char line[64];
    void *(*run)(void *) = NULL;
    ready(getpid());
    while (fgets(line, sizeof(line), stdin) != NULL) {
      if (run == NULL) {
        void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | (argc > 3 ? RTLD_DEEPBIND : 0));
        if (plugin == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
        *(void **)&run = dlsym(plugin, "run");
      } else {
        pthread_t thread;
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
      }
      ready(0);
    }
    return 0;
  }
  ready(getpid());
  until_input_ends();
  return 0;
}
